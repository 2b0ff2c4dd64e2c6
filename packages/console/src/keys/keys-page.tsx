/** API keys: create one, see which are used, revoke one. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../api/http.ts'
import type { Page } from '../api/shapes.ts'
import { useKey, useMe } from '../frame/me.ts'
import { useNow } from '../parts/clock.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Badge, Button, Empty, Heading } from '../parts/parts.tsx'
import { fromNow } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { NewKey } from './new-key.tsx'
import { KEYS, type Key } from './shapes.ts'

const LOOK_MS = 10_000
const MINUTE = 60_000

export function KeysPage() {
  const me = useMe()
  const { key } = useKey()
  return (
    <>
      <Heading title="Keys">
        A key identifies a caller and sets what they may do. It is shown once, when it is created;
        only its hash is stored.
      </Heading>
      {me === undefined ? (
        <p className="text-muted">Loading …</p>
      ) : me.role !== 'admin' ? (
        <Empty title="Keys are for admins">
          You are signed in as {me.role}. To create or revoke keys, forget this key and sign in with
          an admin key.
        </Empty>
      ) : (
        <div className="grid grid-cols-1 items-start gap-5 xl:grid-cols-[minmax(0,1fr)_22rem]">
          <div className="flex min-w-0 flex-col gap-3">
            {key === null && (
              <p className="rounded-xl bg-own-soft px-4 py-3 text-sm text-own">
                This server is open to everybody on its own machine and asks for no keys. They count
                once it runs with <code className="font-mono">WAKEFUL_AUTH=keys</code>.
              </p>
            )}
            <KeyList />
          </div>
          <div className="max-xl:order-first">
            <NewKey />
          </div>
        </div>
      )}
    </>
  )
}

function KeyList() {
  const { data, error, refetch } = useQuery({
    queryKey: KEYS,
    queryFn: ({ signal }) => request<Page<Key>>('v1/keys?limit=500', { signal }),
    refetchInterval: LOOK_MS,
  })
  const [leaving, setLeaving] = useState<Key | null>(null)
  const now = useNow(MINUTE)
  if (error !== null) return <Trouble error={error} onRetry={() => void refetch()} />
  if (data === undefined) return <p className="text-muted">Loading …</p>
  if (data.data.length === 0)
    return (
      <Empty title="No keys yet">
        Make one for each app, agent or person. From a shell:{' '}
        <code className="font-mono text-[0.9em] wrap-anywhere">
          wakeful keys create --role agent --user ann
        </code>
      </Empty>
    )
  return (
    <>
      <ul
        aria-label="Keys"
        className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-panel"
      >
        {data.data.map((each) => (
          <Row key={each.id} row={each} now={now} onRevoke={() => setLeaving(each)} />
        ))}
      </ul>
      {data.next_cursor !== null && (
        <p className="text-sm text-muted">The newest 500. The rest: wakeful keys list.</p>
      )}
      {leaving !== null && <Revoke row={leaving} onDone={() => setLeaving(null)} />}
    </>
  )
}

function Row({ row, now, onRevoke }: { row: Key; now: number; onRevoke: () => void }) {
  const expired = row.expires_at !== undefined && Date.parse(row.expires_at) <= now
  const gone = row.revoked_at !== undefined || expired
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className={`min-w-0 flex-1 basis-56 ${gone ? 'text-muted' : ''}`}>
        <p className="flex flex-wrap items-center gap-2">
          <span className="font-medium">{nameOf(row)}</span>
          <Badge>{row.role}</Badge>
          {row.revoked_at !== undefined && <Badge tone="bad">revoked</Badge>}
          {row.revoked_at === undefined && expired && <Badge tone="bad">expired</Badge>}
        </p>
        <p className="mt-0.5 font-mono text-xs text-muted wrap-anywhere">{row.id}</p>
      </div>
      <p className="text-sm text-muted sm:w-60">
        {row.last_used_at === undefined ? 'never used' : `used ${fromNow(row.last_used_at, now)}`}
        <span className="block text-xs">
          made {fromNow(row.created_at, now)}
          {row.expires_at !== undefined && !gone && `, expires ${fromNow(row.expires_at, now)}`}
        </span>
      </p>
      {gone ? (
        <span className="w-20 max-sm:hidden" />
      ) : (
        <Button
          className="w-20"
          onClick={onRevoke}
          aria-label={`Revoke the key of ${nameOf(row)}, ${row.role}`}
        >
          Revoke
        </Button>
      )}
    </li>
  )
}

function nameOf({ user_id, agent_id, role }: Key): string {
  if (user_id === undefined) return role === 'worker' ? 'Any person’s claims' : 'Everybody'
  return agent_id === undefined ? user_id : `${user_id} by ${agent_id}`
}

function Revoke({ row, onDone }: { row: Key; onDone: () => void }) {
  const client = useQueryClient()
  const revoke = useMutation({
    mutationFn: () => request<Key>(`v1/keys/${row.id}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: KEYS })
      onDone()
    },
  })
  if (revoke.error !== null) return <Trouble error={revoke.error} onRetry={() => revoke.mutate()} />
  return (
    <Confirm
      title="Revoke this key?"
      words={`Requests with the ${row.role} key of ${nameOf(row)} are refused within seconds, and its open sockets close. This cannot be undone; you can make another key.`}
      action="Revoke"
      busy={revoke.isPending}
      onYes={() => revoke.mutate()}
      onNo={onDone}
    />
  )
}
