/** Where people are reached beside their sockets, what each channel said last, and a line to try it. */
import { Link } from 'wouter'
import { address } from '../api/address.ts'
import { usePages } from '../api/query.ts'
import { useAct } from '../forms/act.ts'
import { useCapabilities } from '../forms/choices.ts'
import { DeleteButton } from '../forms/delete-button.tsx'
import { PersonLink } from '../kit/links.tsx'
import { State } from '../parts/outcome.tsx'
import { Badge, Button } from '../parts/parts.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'
import { sessionAddress } from '../session/key.ts'
import { NewLink } from './new-link.tsx'
import { NotifyHere } from './notify-here.tsx'
import { type PersonLink as Linked, shownAddress, WEB_PUSH } from './shapes.ts'

const ROWS = 100

/** Of one person, or of everybody. */
export function ChannelList({ user = '' }: { user?: string }) {
  const { channels } = useCapabilities()
  const path = address('v1/links', { user_id: user, ended: 'true', limit: ROWS })
  const { rows, error, refetch, hasNextPage, fetchNextPage } = usePages<Linked>(path, [
    'links',
    'sessions',
  ])
  return (
    <div className="flex flex-col gap-3 text-[13px]">
      {error !== null && <Trouble error={error} onRetry={() => void refetch()} />}
      {rows === undefined && error === null && <Skeleton />}
      {rows?.length === 0 && (
        <p className="text-muted">
          {user === '' ? 'Nobody is' : 'They are not'} linked to a channel: messages wait for an
          open socket.
        </p>
      )}
      {rows !== undefined && rows.length > 0 && (
        <ul aria-label="Channels" className="divide-y divide-line">
          {rows.map((each) => (
            <Row key={each.id} row={each} named={user === ''} />
          ))}
        </ul>
      )}
      {hasNextPage && <Button onClick={() => void fetchNextPage()}>More</Button>}
      <NewLink user={user} channels={channels.filter((name) => name !== WEB_PUSH)} />
      {channels.includes(WEB_PUSH) && <NotifyHere user={user} />}
    </div>
  )
}

function Row({ row, named }: { row: Linked; named: boolean }) {
  const gone = row.ended_at !== undefined
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 py-2.5">
      <div className={`min-w-0 flex-1 basis-48 ${gone ? 'text-muted' : ''}`}>
        <p className="flex flex-wrap items-center gap-2">
          {named && <PersonLink id={row.user_id} />}
          <span className="font-medium">{row.channel}</span>
          {!row.person && <Badge>this session alone</Badge>}
          {gone && (
            <State icon="cross" tone="bad">
              ended
            </State>
          )}
          {!gone && row.closed_since !== undefined && <Badge tone="own">until they write</Badge>}
        </p>
        <p className="text-muted wrap-anywhere">
          {shownAddress(row)} ·{' '}
          <Link href={sessionAddress(row.session_key)} className="text-accent underline">
            {row.session_key}
          </Link>
        </p>
      </div>
      <Last row={row} />
      {!gone && <Actions row={row} />}
    </li>
  )
}

function Last({ row: { last } }: { row: Linked }) {
  if (last === undefined) return <p className="text-muted">nothing sent yet</p>
  return (
    <p className="text-muted">
      <State
        icon={last.outcome === 'sent' ? 'sent' : 'warning'}
        tone={last.outcome === 'sent' ? 'good' : 'bad'}
      >
        {last.outcome}
      </State>{' '}
      <When at={last.at} as="relative" />
      {last.error !== undefined && (
        <span className="block text-xs wrap-anywhere">{last.error}</span>
      )}
    </p>
  )
}

function Actions({ row }: { row: Linked }) {
  const act = useAct(['links'])
  const path = `v1/links/${row.id}`
  const named = `${row.channel} of ${row.user_id}`
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        disabled={act.isPending}
        aria-label={`Try ${named}`}
        onClick={() => act.mutate({ method: 'POST', path: `${path}/test` })}
      >
        Try
      </Button>
      <Button
        disabled={act.isPending}
        aria-label={`First: ${named}`}
        onClick={() => act.mutate({ method: 'PATCH', path, body: { first: true } })}
      >
        First
      </Button>
      <DeleteButton
        what="link"
        words={`Nothing more goes to ${shownAddress(row)}. What was not sent goes by another link of ${row.user_id}, or waits for a socket.`}
        onYes={() => act.mutate({ method: 'DELETE', path })}
      />
      {act.error !== null && <Trouble error={act.error} onRetry={() => act.reset()} />}
    </div>
  )
}
