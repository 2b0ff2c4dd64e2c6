/** Where people are reached beside their sockets, what each channel said last, and a line to try it. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { request } from '../api/http.ts'
import type { Page } from '../api/shapes.ts'
import { useAct } from '../forms/act.ts'
import { useCapabilities } from '../forms/choices.ts'
import { DeleteButton } from '../forms/delete-button.tsx'
import { useNow } from '../parts/clock.ts'
import { Badge, Button, Empty, Heading } from '../parts/parts.tsx'
import { fromNow } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { NewLink } from './new-link.tsx'
import { NotifyHere } from './notify-here.tsx'
import { LINKS, type PersonLink, shownAddress, WEB_PUSH } from './shapes.ts'

const LOOK_MS = 5_000
const MINUTE = 60_000
const ROWS = 100
const GOOD = new Set(['sent'])

export function LinksPage() {
  const { channels } = useCapabilities()
  return (
    <>
      <Heading title="Links">
        Where people are reached while no page is open: one address on one channel each. What they
        write there goes into the link’s session.
      </Heading>
      <div className="grid grid-cols-1 items-start gap-5 xl:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="flex min-w-0 flex-col gap-3">
          <LinkList />
        </div>
        <div className="flex flex-col gap-5 max-xl:order-first">
          <NewLink channels={channels.filter((name) => name !== WEB_PUSH)} />
          {channels.includes(WEB_PUSH) && <NotifyHere />}
        </div>
      </div>
    </>
  )
}

function LinkList() {
  const { data, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: [LINKS],
    queryFn: ({ pageParam, signal }) =>
      request<Page<PersonLink>>(
        `v1/links?ended=true&limit=${ROWS}${pageParam === null ? '' : `&cursor=${pageParam}`}`,
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
    refetchInterval: LOOK_MS,
  })
  const now = useNow(MINUTE)
  if (error !== null) return <Trouble error={error} onRetry={() => void refetch()} />
  if (data === undefined) return <p className="text-muted">Loading …</p>
  const rows = data.pages.flatMap((page) => page.data)
  if (rows.length === 0)
    return (
      <Empty title="Nobody is linked yet">
        Make a code for a session. The person who sends it on the channel is reached there from then
        on.
      </Empty>
    )
  return (
    <>
      <ul
        aria-label="Links"
        className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-panel"
      >
        {rows.map((each) => (
          <Row key={each.id} row={each} now={now} />
        ))}
      </ul>
      {hasNextPage && <Button onClick={() => void fetchNextPage()}>More</Button>}
    </>
  )
}

function Row({ row, now }: { row: PersonLink; now: number }) {
  const gone = row.ended_at !== undefined
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className={`min-w-0 flex-1 basis-56 ${gone ? 'text-muted' : ''}`}>
        <p className="flex flex-wrap items-center gap-2">
          <span className="font-medium">{row.user_id}</span>
          <Badge>{row.channel}</Badge>
          {!row.person && <Badge>this session alone</Badge>}
          {gone && <Badge tone="bad">ended</Badge>}
          {!gone && row.closed_since !== undefined && <Badge tone="own">until they write</Badge>}
        </p>
        <p className="mt-0.5 text-sm text-muted wrap-anywhere">
          {shownAddress(row)} ·{' '}
          <Link
            href={`/sessions/${encodeURIComponent(row.session_key)}`}
            className="text-accent underline"
          >
            {row.session_key}
          </Link>
        </p>
      </div>
      <Last row={row} now={now} />
      {!gone && <Deeds row={row} />}
    </li>
  )
}

function Last({ row, now }: { row: PersonLink; now: number }) {
  const { last } = row
  if (last === undefined) return <p className="text-sm text-muted sm:w-60">nothing sent yet</p>
  return (
    <p className="text-sm text-muted sm:w-60">
      <Badge tone={GOOD.has(last.outcome) ? 'good' : 'bad'}>{last.outcome}</Badge>{' '}
      {fromNow(last.at, now)}
      {last.error !== undefined && (
        <span className="block text-xs wrap-anywhere">{last.error}</span>
      )}
    </p>
  )
}

function Deeds({ row }: { row: PersonLink }) {
  const act = useAct(LINKS)
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
