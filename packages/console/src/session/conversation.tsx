/** What was said, what was said unasked, and what was held back. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Icon } from '../parts/icon.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { everyClock, timeOf } from '../parts/time.ts'
import { Options } from '../questions/options.tsx'
import { MessageText } from './message-text.tsx'
import type { Saying } from './story.ts'
import type { Older } from './use-session.ts'

/** The agent of a server that was given none. */
const DEMO = 'companion'
/** What a saying is taken for until it is measured. */
const SAYING_PX = 74
const OVERSCAN = 8
/** This near to the end counts as reading the end. */
const NEAR_PX = 120
/** This near to the oldest saying older ones are asked for. */
const NEAR_SAYINGS = 20

interface Props {
  readonly sayings: readonly Saying[]
  readonly loading: boolean
  readonly watching: boolean
  /** What is shown is being acknowledged, so nothing of it waits for a reader. */
  readonly reading: boolean
  readonly agent: string
  readonly sessionKey: string
  /** Whether older ones can be had. */
  readonly more: boolean
  readonly older: Older
}

/** Sticks to its end: a reader there follows new messages, and older ones load above without a jump. */
export function Conversation(props: Props) {
  const { sayings, sessionKey, loading, watching, reading, agent, more, older } = props
  const scroller = useRef<HTMLDivElement>(null)
  const count = sayings.length
  const windowed = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => SAYING_PX,
    overscan: OVERSCAN,
    getItemKey: (index) => sayings[index]?.id ?? index,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: NEAR_PX,
  })
  const begun = count > 0
  const { scrollToEnd } = windowed
  useLayoutEffect(() => {
    if (begun) scrollToEnd()
  }, [begun, scrollToEnd])
  const drawn = windowed.getVirtualItems()
  const first = drawn[0]?.index ?? count
  // It opens at its end, but is drawn from its beginning first: that beginning was not scrolled to.
  const atEnd = drawn.at(-1)?.index === count - 1
  const [opened, setOpened] = useState(false)
  useEffect(() => {
    if (begun && atEnd) setOpened(true)
  }, [begun, atEnd])
  const near = opened && more && !older.loading && first < NEAR_SAYINGS
  useEffect(() => {
    if (near) older.load()
  }, [near, older.load])
  return (
    <div
      ref={scroller}
      role="log"
      aria-label="Messages"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: else it could not be scrolled by keyboard
      tabIndex={0}
      className="flex-1 overflow-y-auto px-4 py-4 -outline-offset-2"
    >
      {!begun && <Beginning loading={loading} watching={watching} agent={agent} />}
      <ol style={{ height: windowed.getTotalSize(), paddingTop: drawn[0]?.start ?? 0 }}>
        {drawn.map(({ index, key }) => {
          const saying = sayings[index]
          if (saying === undefined) return null
          return (
            <li
              key={key}
              ref={windowed.measureElement}
              data-index={index}
              className={`flex flex-col pb-3 ${index === count - 1 ? 'arrive' : ''}`}
            >
              <Said saying={saying} watching={watching} reading={reading} />
              {saying.kind === 'agent' && saying.question !== undefined && (
                <div className="mt-2">
                  <Options
                    question={saying.question}
                    person={sessionKey.split(':')[0] ?? ''}
                    sessionKey={sessionKey}
                  />
                </div>
              )}
            </li>
          )
        })}
      </ol>
    </div>
  )
}

function Beginning({ loading, watching, agent }: Pick<Props, 'loading' | 'watching' | 'agent'>) {
  if (loading) return <Skeleton rows={5} />
  return (
    <div className="mx-auto max-w-md py-10 text-center">
      <p className="font-medium">Nothing was said yet</p>
      <p className="mt-1 text-[13px] text-muted">
        {watching
          ? 'Messages appear here as they come.'
          : agent === DEMO
            ? 'Say hello below. The demo agent answers and, if you stay silent, checks in on its own after 20 seconds: those messages are marked as follow-ups.'
            : 'Say something below. What the agent later says by itself is marked with its reason.'}
      </p>
    </div>
  )
}

function Said(props: { saying: Saying; watching: boolean; reading: boolean }) {
  const { saying, watching, reading } = props
  if (saying.kind === 'unsaid') {
    return (
      <p
        className={`self-start rounded-lg border border-dashed px-3 py-1.5 text-[13px] wrap-anywhere ${
          saying.failed ? 'border-bad text-bad' : 'border-edge text-muted'
        }`}
      >
        <Time at={saying.at} /> {saying.text}
      </p>
    )
  }
  if (saying.kind === 'user') {
    return (
      <Bubble
        who={watching ? 'User' : 'You'}
        at={saying.at}
        look="self-end items-end"
        tone="bg-accent text-on-accent"
      >
        {saying.text}
      </Bubble>
    )
  }
  const tone = saying.unasked === null ? 'bg-sunk' : 'border border-own-line bg-own-soft'
  return (
    <Bubble
      who="Agent"
      at={saying.at}
      look="self-start items-start"
      tone={tone}
      mark={saying.unasked}
      note={saying.delivered || reading ? null : 'waiting for a reader'}
    >
      {saying.text}
    </Bubble>
  )
}

function Bubble(props: {
  who: string
  at: string
  look: string
  tone: string
  mark?: string | null
  note?: string | null
  children: string
}) {
  const { who, at, look, tone, mark = null, note = null, children } = props
  return (
    <div className={`flex max-w-[85%] flex-col gap-1 ${look}`}>
      <p className="text-xs text-muted">
        {who} · <Time at={at} />
        {mark !== null && (
          <span className="font-medium text-own">
            {' '}
            · <Icon name="sent" className="size-3!" /> {mark}
          </span>
        )}
        {note !== null && <span> · {note}</span>}
      </p>
      <div className={`max-w-full rounded-2xl px-3.5 py-2 wrap-anywhere ${tone}`}>
        <MessageText text={children} formatted={who === 'Agent'} />
      </div>
    </div>
  )
}

function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={everyClock(at)}>
      {timeOf(at)}
    </time>
  )
}
