/** What waits for its moment: by which rule, since when and until when; and a way to have it now. */
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { request } from '../api/http.ts'
import type { Page } from '../api/shapes.ts'
import { useAct } from '../forms/act.ts'
import { useNow } from '../parts/clock.ts'
import { Badge, Button, Empty, Panel } from '../parts/parts.tsx'
import { fromNow, whenIn } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { sessionAddress } from '../session/key.ts'
import { type Deferred, LOOK_MS, PERSON, type Person, pathOf } from './shapes.ts'

const ROWS = 100
const MINUTE = 60_000

export function DeferredPanel({ person }: { person: Person }) {
  const path = `${pathOf(person.user_id)}/deferred`
  const { data, error, refetch } = useQuery({
    queryKey: [PERSON, person.user_id, 'deferred'],
    queryFn: ({ signal }) => request<Page<Deferred>>(`${path}?limit=${ROWS}`, { signal }),
    refetchInterval: LOOK_MS,
  })
  const act = useAct<{ released: number }>(PERSON)
  const release = (body: object) => act.mutate({ method: 'POST', path: `${path}/release`, body })
  const rows = data?.data ?? []
  return (
    <Panel
      title="Deferred"
      aside={
        rows.length > 1 && (
          <Button disabled={act.isPending} onClick={() => release({})}>
            Release all
          </Button>
        )
      }
    >
      {error !== null && <Trouble spaced error={error} onRetry={() => void refetch()} />}
      {act.error !== null && <Trouble spaced error={act.error} onRetry={() => act.reset()} />}
      {data === undefined && error === null && <p className="text-muted">Loading …</p>}
      {data !== undefined && rows.length === 0 && (
        <Empty title="Nothing waits">
          What comes due at a bad moment is kept here until a better one, and then said again.
        </Empty>
      )}
      {rows.length > 0 && (
        <ul aria-label="Deferred" className="divide-y divide-line">
          {rows.map((row) => (
            <Row
              key={row.id}
              row={row}
              zone={person.timezone}
              busy={act.isPending}
              onRelease={() => release({ ids: [row.id] })}
            />
          ))}
        </ul>
      )}
      {data?.next_cursor && (
        <p className="mt-2 text-sm text-muted">These are the newest {ROWS}; older ones wait too.</p>
      )}
    </Panel>
  )
}

interface RowProps {
  readonly row: Deferred
  readonly zone: string
  readonly busy: boolean
  readonly onRelease: () => void
}

function Row({ row, zone, busy, onRelease }: RowProps) {
  const now = useNow(MINUTE)
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 py-3">
      <div className="min-w-0 flex-1 basis-56 text-sm">
        <p className="flex flex-wrap items-center gap-2">
          <span className="font-medium wrap-anywhere">{row.name}</span>
          <Badge>{row.kind}</Badge>
          <Badge tone="own">{row.why}</Badge>
        </p>
        <p className="mt-1">
          {row.release_at === null ? (
            'Released now'
          ) : (
            <>
              Comes <time dateTime={row.release_at}>{whenIn(row.release_at, zone)}</time>,{' '}
              {fromNow(row.release_at, now)}
            </>
          )}
        </p>
        <p className="text-muted wrap-anywhere">
          Since <time dateTime={row.deferred_at}>{whenIn(row.deferred_at, zone)}</time> ·{' '}
          <Link href={sessionAddress(row.session_key)} className="text-accent underline">
            {row.session_key}
          </Link>
        </p>
      </div>
      <Button disabled={busy} aria-label={`Release ${row.name}`} onClick={onRelease}>
        Release
      </Button>
    </li>
  )
}
