/** API keys: create one, see which are used, revoke one. */
import { useState } from 'react'
import { usePages } from '../api/query.ts'
import { useAct } from '../forms/act.ts'
import { useKey, useMe } from '../frame/me.ts'
import { type Column, Table } from '../kit/table.tsx'
import { useNow } from '../parts/clock.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Badge, Button, Empty } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'
import type { Key } from './key.ts'
import { NewKey } from './new-key.tsx'

const MINUTE = 60_000

export function KeysPart() {
  const me = useMe()
  const { key } = useKey()
  if (me?.role !== 'admin')
    return (
      <Empty title="Keys are for admins">
        You are signed in as {me?.role}. To create or revoke keys, sign out and sign in with an
        admin key.
      </Empty>
    )
  return (
    <div className="grid grid-cols-1 items-start gap-4 xl:grid-cols-[minmax(0,1fr)_20rem]">
      <div className="flex min-w-0 flex-col gap-3">
        {key === null && (
          <p className="rounded-lg bg-sunk px-4 py-2.5 text-[13px]">
            This server is open to everybody on its own machine and asks for no keys. They count
            once it runs with <code className="font-mono">WAKEFUL_AUTH=keys</code>.
          </p>
        )}
        <KeyTable />
      </div>
      <div className="max-xl:order-first">
        <NewKey />
      </div>
    </div>
  )
}

function KeyTable() {
  const list = usePages<Key>('v1/keys?limit=200', ['keys'])
  const [leaving, setLeaving] = useState<Key | null>(null)
  if (list.error !== null) return <Trouble error={list.error} onRetry={() => void list.refetch()} />
  if (list.rows?.length === 0)
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
      <Table
        label="Keys"
        columns={[
          ...COLUMNS,
          {
            name: 'Revoke',
            className: 'w-[6.5rem] text-right',
            cell: (row) => <RevokeButton row={row} onClick={() => setLeaving(row)} />,
          },
        ]}
        rows={list.rows}
        keyOf={({ id }) => id}
        more={list.hasNextPage}
        loading={list.isFetchingNextPage}
        onMore={() => void list.fetchNextPage()}
      />
      {leaving !== null && <Revoke row={leaving} onDone={() => setLeaving(null)} />}
    </>
  )
}

function nameOf({ user_id, agent_id, role }: Key): string {
  if (user_id === undefined) return role === 'worker' ? 'Any person’s claims' : 'Everybody'
  return agent_id === undefined ? user_id : `${user_id} by ${agent_id}`
}

function isOver({ revoked_at, expires_at }: Key, now: number): boolean {
  return revoked_at !== undefined || (expires_at !== undefined && Date.parse(expires_at) <= now)
}

function RevokeButton({ row, onClick }: { row: Key; onClick: () => void }) {
  const now = useNow(MINUTE)
  if (row.revoked_at !== undefined) return <Badge tone="bad">revoked</Badge>
  if (isOver(row, now)) return <Badge tone="bad">expired</Badge>
  return (
    <Button onClick={onClick} aria-label={`Revoke the key of ${nameOf(row)}, ${row.role}`}>
      Revoke
    </Button>
  )
}

const COLUMNS: readonly Column<Key>[] = [
  {
    name: 'For',
    cell: (row) => <span className="font-medium">{nameOf(row)}</span>,
  },
  { name: 'Role', className: 'w-[6rem]', cell: ({ role }) => role },
  {
    name: 'Used',
    className: 'w-[9rem]',
    cell: ({ last_used_at: at }) =>
      at === undefined ? <span className="text-muted">never</span> : <When at={at} as="relative" />,
  },
  {
    name: 'Made',
    className: 'w-[9rem]',
    wide: true,
    cell: ({ created_at }) => <When at={created_at} />,
  },
  {
    name: 'Expires',
    className: 'w-[9rem]',
    wide: true,
    cell: ({ expires_at: at }) =>
      at === undefined ? <span className="text-muted">never</span> : <When at={at} />,
  },
]

function Revoke({ row, onDone }: { row: Key; onDone: () => void }) {
  const act = useAct(['keys'], onDone)
  if (act.error !== null) return <Trouble error={act.error} onRetry={() => act.reset()} />
  return (
    <Confirm
      title="Revoke this key?"
      words={`Requests with the ${row.role} key of ${nameOf(row)} are refused within seconds, and its open sockets close. This cannot be undone; you can make another key.`}
      action="Revoke"
      busy={act.isPending}
      onYes={() => act.mutate({ method: 'DELETE', path: `v1/keys/${row.id}` })}
      onNo={onDone}
    />
  )
}
