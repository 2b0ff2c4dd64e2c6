/** Where facts are pulled from, and how that goes. */
import { useRead } from '../api/query.ts'
import type { Page } from '../api/shapes.ts'
import { useMe } from '../frame/me.ts'
import { Badge, Panel } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'

const SHOWN = 50

interface Source {
  readonly key: string
  readonly kind: string
  readonly last_ok_at: string | null
  readonly last_error: string | null
  readonly failures: number
  readonly next_poll_at: string
}

/** For those who see everybody's: a source belongs to the installation. */
export function SourcesPanel() {
  const me = useMe()
  const mayLook = me?.role === 'admin' || me?.role === 'service'
  const { data, error } = useRead<Page<Source>>('v1/sources', ['sources', 'ledger'], mayLook)
  if (!mayLook) return null
  const failing = data?.data.filter(({ failures }) => failures > 0).length ?? 0
  return (
    <Panel
      title="Sources of facts"
      aside={
        data !== undefined &&
        data.data.length > 0 && (
          <Badge tone={failing > 0 ? 'bad' : 'good'}>
            {failing > 0 ? `${failing} failing` : 'all read'}
          </Badge>
        )
      }
    >
      {error !== null && <Trouble error={error} />}
      {data?.data.length === 0 && (
        <p className="text-[13px] text-muted">
          None is configured: facts come by <code className="font-mono">POST /v1/signals</code>{' '}
          alone. Prices, feeds and calendars can be read by the server itself; the README says how.
        </p>
      )}
      <ul className="divide-y divide-line text-[13px]">
        {data?.data.slice(0, SHOWN).map((source) => (
          <li key={source.key} className="py-2">
            <p className="flex justify-between gap-3">
              <span className="min-w-0 font-mono text-xs wrap-anywhere">{source.key}</span>
              <span className="shrink-0 text-muted">
                {source.last_ok_at === null ? (
                  'never read'
                ) : (
                  <>
                    read <When at={source.last_ok_at} as="both" />
                  </>
                )}
              </span>
            </p>
            {source.last_error !== null && (
              <p className={`wrap-anywhere ${source.failures > 0 ? 'text-bad' : 'text-muted'}`}>
                {source.last_error}
              </p>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
