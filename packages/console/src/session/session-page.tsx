/** One session: the conversation beside the corridor that led to it. */
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { Empty } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { Composer } from './composer.tsx'
import { Conversation } from './conversation.tsx'
import { Corridor } from './corridor.tsx'
import { sessionAddress } from './key.ts'
import { KeyParts } from './key-parts.tsx'
import { LineBadge } from './line-badge.tsx'
import { conversationOf, passagesOf } from './story.ts'
import { useSession } from './use-session.ts'

type Side = 'conversation' | 'corridor'

export function SessionPage({ sessionKey, watching }: { sessionKey: string; watching: boolean }) {
  const { line, query, older } = useSession(sessionKey, watching)
  const [side, setSide] = useState<Side>('conversation')
  const rows = query.data
  const agent = sessionKey.split(':')[1] ?? ''
  const passages = useMemo(
    () =>
      rows === undefined
        ? []
        : passagesOf({
            doneSeq: rows.head?.done_seq ?? 0,
            events: rows.events,
            turns: rows.turns,
            effects: rows.effects,
          }),
    [rows],
  )
  const sayings = useMemo(() => conversationOf(passages), [passages])
  const shown = (of: Side) => (side === of ? 'flex' : 'hidden lg:flex')
  return (
    <div className="flex flex-col gap-4 lg:h-[max(34rem,calc(100dvh-3.5rem-var(--tour,0px)))]">
      <Head sessionKey={sessionKey} watching={watching}>
        <LineBadge line={line} />
      </Head>
      {query.error !== null && <Trouble error={query.error} onRetry={() => void query.refetch()} />}
      {line.state === 'away' && rows?.head === null && (
        <p className="rounded-xl bg-own-soft px-4 py-3 text-sm text-own">
          The line cannot be opened. Either the server is away, or it has no agent named “{agent}”:
          check the second part of the session’s key.
        </p>
      )}
      <SideSwitch side={side} onChange={setSide} />
      <div className="grid min-h-0 flex-1 grid-cols-1 gap-4 lg:grid-cols-[minmax(0,1fr)_26rem]">
        <section
          aria-label="Conversation"
          className={`${shown('conversation')} h-[calc(100dvh-15.75rem-var(--tour,0px))] min-h-72 flex-col overflow-hidden rounded-xl border border-line bg-panel lg:h-auto`}
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
          <Composer sessionKey={sessionKey} watching={watching} fresh={rows?.head === null} />
        </section>
        <section aria-label="Corridor" className={`${shown('corridor')} min-h-0 flex-col gap-4`}>
          {rows?.head ? (
            <Corridor head={rows.head} passages={passages} more={!rows.whole} older={older} />
          ) : (
            <Empty title="The corridor">
              Each event will be shown here with the turn it led to, what the gate said, and what
              became of the messages and timers the agent asked for.
            </Empty>
          )}
        </section>
      </div>
    </div>
  )
}

function Head(props: { sessionKey: string; watching: boolean; children: React.ReactNode }) {
  const { sessionKey, watching, children } = props
  const here = sessionAddress(sessionKey)
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <title>{`${sessionKey} · Wakeful`}</title>
      <h1 className="text-lg font-semibold tracking-tight">
        <KeyParts sessionKey={sessionKey} />
      </h1>
      {children}
      <Link
        href={watching ? here : `${here}/watch`}
        className="text-sm text-accent underline underline-offset-4 sm:ml-auto"
      >
        {watching ? 'Join: read and write' : 'Only watch'}
      </Link>
    </div>
  )
}

/** On a narrow screen one side at a time. */
function SideSwitch({ side, onChange }: { side: Side; onChange: (side: Side) => void }) {
  return (
    <fieldset className="flex rounded-lg bg-sunk p-1 text-sm lg:hidden">
      <legend className="sr-only">Show</legend>
      {(['conversation', 'corridor'] as const).map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={side === name}
          onClick={() => onChange(name)}
          className="min-h-9 flex-1 rounded-md capitalize text-muted aria-pressed:bg-panel aria-pressed:font-medium aria-pressed:text-ink"
        >
          {name}
        </button>
      ))}
    </fieldset>
  )
}
