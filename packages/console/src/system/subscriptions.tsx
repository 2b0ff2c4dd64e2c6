/** Receivers outside that are told what happens, and how that goes. */
import { useRead } from '../api/query.ts'
import type { Page } from '../api/shapes.ts'
import { useAct } from '../forms/act.ts'
import { DeleteButton } from '../forms/delete-button.tsx'
import { useMe } from '../frame/me.ts'
import { useNow } from '../parts/clock.ts'
import { Badge, Panel } from '../parts/parts.tsx'
import { fromNow } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'

const SHOWN = 50

interface Subscription {
  readonly id: string
  readonly user_id: string
  readonly name: string
  readonly arguments: Readonly<Record<string, string>>
  readonly host: string
  readonly expires_at: string | null
  readonly waiting: number
  readonly delivery_status: {
    readonly active: boolean
    readonly last_delivery_at: string | null
    readonly last_error: string | null
    readonly failed_since: string | null
  }
}

/** A worker's key sees no subscriptions. */
export function SubscribersPanel() {
  const me = useMe()
  const mayLook = me !== undefined && me.role !== 'worker'
  const { data, error } = useRead<Page<Subscription>>(
    'v1/subscriptions',
    ['subscriptions', 'ledger'],
    mayLook,
  )
  const act = useAct(['subscriptions'])
  const all = data?.data ?? []
  if (!mayLook) return null
  const failing = all.filter((each) => each.delivery_status.failed_since !== null).length
  return (
    <Panel
      title="Subscriptions"
      aside={
        all.length > 0 && (
          <Badge tone={failing > 0 ? 'bad' : 'good'}>
            {failing > 0 ? `${failing} failing` : 'all reached'}
          </Badge>
        )
      }
    >
      {error !== null && <Trouble error={error} />}
      {act.error !== null && <Trouble error={act.error} />}
      {data !== undefined && all.length === 0 && (
        <p className="text-[13px] text-muted">
          No receiver is subscribed. Apps subscribe with POST /v1/subscriptions, agents elsewhere by
          MCP Events at <code className="font-mono">/mcp</code>.
        </p>
      )}
      <ul className="divide-y divide-line text-[13px]">
        {all.slice(0, SHOWN).map((each) => (
          <Row
            key={each.id}
            subscription={each}
            onRemove={() => act.mutate({ method: 'DELETE', path: `v1/subscriptions/${each.id}` })}
          />
        ))}
      </ul>
    </Panel>
  )
}

function Row({
  subscription: { name, arguments: args, host, user_id, expires_at, waiting, delivery_status },
  onRemove,
}: {
  subscription: Subscription
  onRemove: () => void
}) {
  const now = useNow()
  const { last_delivery_at: last, last_error, failed_since: failing } = delivery_status
  const asked = Object.entries(args).map(([key, value]) => `${key} ${value}`)
  const ends = expires_at === null ? 'no end' : `ends ${fromNow(expires_at, now)}`
  return (
    <li className="flex items-start justify-between gap-3 py-2">
      <div className="min-w-0">
        <p className="wrap-anywhere">
          <span className="font-mono text-xs">{name}</span> of {user_id} to{' '}
          <span className="font-medium">{host}</span>
        </p>
        <p className="text-muted">
          {last === null ? 'nothing told yet' : `told ${fromNow(last, now)}`} · {waiting} on the way
          · {ends}
        </p>
        {asked.length > 0 && <p className="text-muted wrap-anywhere">{asked.join(', ')}</p>}
        {failing !== null && (
          <p className="text-bad">
            {last_error}, failing since {fromNow(failing, now)}
          </p>
        )}
      </div>
      <DeleteButton
        what="subscription"
        words="Its receiver is told that it has ended; what is on the way is not sent."
        onYes={onRemove}
      />
    </li>
  )
}
