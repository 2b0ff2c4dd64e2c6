/** What became of each time an alarm came due. */
import { useQuery } from '@tanstack/react-query'
import { readLedger } from '../api/ledger.ts'
import { Panel } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { Entry } from '../why/entry.tsx'

const LOOK_MS = 3_000
const SHOWN = 20

export function AlarmHistory({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['alarms', 'history', id],
    queryFn: ({ signal }) => readLedger({ trigger: 'alarm', trigger_id: id, limit: SHOWN }, signal),
    refetchInterval: LOOK_MS,
  })
  const entries = data?.data ?? []
  return (
    <Panel
      title="History"
      aside={
        data?.next_cursor && <span className="text-xs text-muted">the newest {entries.length}</span>
      }
    >
      {error !== null && <Trouble error={error} onRetry={() => void refetch()} />}
      {data !== undefined && entries.length === 0 && (
        <p className="text-sm text-muted">
          It has not come due yet. Each time it does, what became of it is written here.
        </p>
      )}
      {entries.length > 0 && (
        <ul className="-mx-4 -mb-4 divide-y divide-line overflow-hidden rounded-b-xl border-t border-line">
          {entries.map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
        </ul>
      )}
    </Panel>
  )
}
