/** What waits for its moment: by which rule, since when and until when; and a way to have it now. */
import { Link } from 'wouter'
import { useRead } from '../api/query.ts'
import type { Page } from '../api/shapes.ts'
import { useAct } from '../forms/act.ts'
import { Badge, Button, Panel } from '../parts/parts.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'
import { sessionAddress } from '../session/key.ts'
import { type Deferred, type Person, pathOf } from './shapes.ts'

const ROWS = 100

export function DeferredPanel({ person }: { person: Person }) {
  const path = `${pathOf(person.user_id)}/deferred`
  const { data, error, refetch } = useRead<Page<Deferred>>(`${path}?limit=${ROWS}`, [
    'people',
    'ledger',
  ])
  const act = useAct<{ released: number }>(['people', 'ledger'])
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
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && rows.length === 0 && (
        <p className="text-[13px] text-muted">
          Nothing waits. What comes due during quiet hours or a pause is kept here until they end.
        </p>
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
        <p className="mt-2 text-[13px] text-muted">
          These are the newest {ROWS}; older ones wait too.
        </p>
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
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 py-3">
      <div className="min-w-0 flex-1 basis-56 text-[13px]">
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
              Comes <When at={row.release_at} zone={zone} as="both" />
            </>
          )}
        </p>
        <p className="text-muted wrap-anywhere">
          Since <When at={row.deferred_at} zone={zone} /> ·{' '}
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
