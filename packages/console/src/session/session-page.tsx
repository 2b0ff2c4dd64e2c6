/** One session: the conversation beside the record of why. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useMe } from '../frame/me.ts'
import { AgentLink, PersonLink } from '../kit/links.tsx'
import { Icon } from '../parts/icon.tsx'
import { Empty } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { stopOf, useStops } from '../stops/stops.ts'
import { Composer } from './composer.tsx'
import { Conversation } from './conversation.tsx'
import { Corridor } from './corridor.tsx'
import type { SessionRows } from './joining.ts'
import { lookAgain } from './kept.ts'
import { sessionAddress } from './key.ts'
import { LineBadge } from './line-badge.tsx'
import { conversationOf, type Passage, passagesOf } from './story.ts'
import { useSession } from './use-session.ts'

type Side = 'conversation' | 'record'

/** Watching is what happens by itself; acting as somebody else is chosen, marked and audited. */
export function SessionPage({ sessionKey, acting }: { sessionKey: string; acting: boolean }) {
  const me = useMe()
  const isOwn = me !== undefined && me.user_id !== null
  const watching = !isOwn && !acting
  const [side, setSide] = useState<Side>('conversation')
  const [user = '', agent = ''] = sessionKey.split(':')
  const actAs = isOwn || !acting ? undefined : user
  const { line, query, older } = useSession(sessionKey, watching, actAs)
  const rows = query.data
  const stops = useStops()
  const stop = stopOf(stops, sessionKey)
  const stopped = stop !== undefined || rows?.head?.gate.reason === 'stopped'
  useFollowStops(sessionKey, stop?.id, rows?.head != null)
  const passages = useMemo(() => passagesIn(rows), [rows])
  const sayings = useMemo(() => conversationOf(passages, stopped), [passages, stopped])
  const shown = (of: Side) => (side === of ? 'flex' : 'hidden lg:flex')
  return (
    <div
      className={`flex flex-col gap-3 ${stops.length === 0 ? 'lg:h-[max(34rem,calc(100dvh-2rem-var(--tour,0px)))]' : 'lg:h-[max(34rem,calc(100dvh-6.5rem-var(--tour,0px)))]'}`}
    >
      <Head sessionKey={sessionKey}>
        <LineBadge line={line} />
      </Head>
      {!isOwn && me !== undefined && (
        <Mode user={user} watching={watching} here={sessionAddress(sessionKey)} />
      )}
      {query.error !== null && <Trouble error={query.error} onRetry={() => void query.refetch()} />}
      {line.state === 'away' && rows?.head === null && (
        <p className="rounded-lg bg-own-soft px-4 py-2.5 text-[13px] text-own">
          The connection cannot be opened. Either the server is away, or it has no agent named “
          {agent}”: check the second part of the session’s key.
        </p>
      )}
      <SideSwitch side={side} onChange={setSide} />
      <div className="grid min-h-0 flex-1 grid-cols-1 gap-4 lg:grid-cols-[minmax(0,1fr)_25rem]">
        <section
          aria-label="Conversation"
          className={`${shown('conversation')} h-[calc(100dvh-19rem-var(--tour,0px))] min-h-72 flex-col overflow-hidden rounded-lg border border-line bg-panel lg:h-auto`}
        >
          <Conversation
            sayings={sayings}
            sessionKey={sessionKey}
            loading={query.isPending}
            watching={watching}
            reading={!watching && line.state === 'live'}
            agent={agent}
            more={rows?.whole === false}
            older={older}
          />
          <Composer
            sessionKey={sessionKey}
            watching={watching}
            actAs={actAs}
            fresh={rows?.head === null}
          />
        </section>
        <section aria-label="Record" className={`${shown('record')} min-h-0 flex-col gap-3`}>
          {rows?.head ? (
            <Corridor head={rows.head} passages={passages} more={!rows.whole} older={older} />
          ) : (
            <Empty title="The record">
              Each event is shown here with its turn, what the gate said, and what became of the
              messages and timers.
            </Empty>
          )}
        </section>
      </div>
    </div>
  )
}

/** A stop that begins or ends changes the gate, and no frame tells of it. */
function useFollowStops(sessionKey: string, stop: string | undefined, exists: boolean): void {
  const client = useQueryClient()
  const before = useRef(stop)
  useEffect(() => {
    if (before.current !== stop && exists) void lookAgain(client, sessionKey)
    before.current = stop
  }, [client, sessionKey, stop, exists])
}

function passagesIn(rows: SessionRows | undefined): Passage[] {
  if (rows === undefined) return []
  const { head, events, turns, effects } = rows
  return passagesOf({ doneSeq: head?.done_seq ?? 0, events, turns, effects })
}

/** For those who see everybody's sessions. */
function Mode({ user, watching, here }: { user: string; watching: boolean; here: string }) {
  if (watching)
    return (
      <p className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-lg bg-sunk px-3 py-2 text-[13px]">
        <Icon name="intent" className="text-muted" />
        <span className="min-w-0 flex-1 basis-60">
          You are watching. Nothing you see counts as delivered.
        </span>
        <Link
          href={`${here}?act=1`}
          className="inline-flex min-h-8 items-center rounded-md border border-line bg-panel px-3 font-medium hover:border-edge"
        >
          Act as {user}
        </Link>
      </p>
    )
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-lg border border-own-line bg-own-soft px-3 py-2 text-[13px]">
      <Icon name="people" className="text-own" />
      <span className="min-w-0 flex-1 basis-60">
        <strong className="font-semibold text-own">You act as {user}.</strong> What you see counts
        as delivered, what you write is theirs. Both are in the audit log.
      </span>
      <Link
        href={here}
        className="inline-flex min-h-8 items-center rounded-md border border-line bg-panel px-3 font-medium hover:border-edge"
      >
        Only watch
      </Link>
    </p>
  )
}

function Head({ sessionKey, children }: { sessionKey: string; children: React.ReactNode }) {
  const [user = '', agent = '', thread = ''] = sessionKey.split(':')
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <title>{`${sessionKey} · Wakeful`}</title>
      <h1 className="text-lg font-semibold tracking-tight wrap-anywhere">
        <PersonLink id={user} />
        <span className="font-normal text-muted"> with </span>
        <AgentLink id={agent} />
        <span className="font-normal text-muted"> · {thread}</span>
      </h1>
      {children}
    </div>
  )
}

/** On a narrow screen one side at a time. */
function SideSwitch({ side, onChange }: { side: Side; onChange: (side: Side) => void }) {
  return (
    <fieldset className="flex rounded-md bg-sunk p-0.5 text-[13px] lg:hidden">
      <legend className="sr-only">Show</legend>
      {(['conversation', 'record'] as const).map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={side === name}
          onClick={() => onChange(name)}
          className="min-h-8 flex-1 rounded-md capitalize text-muted aria-pressed:bg-panel aria-pressed:font-medium aria-pressed:text-ink"
        >
          {name}
        </button>
      ))}
    </fieldset>
  )
}
