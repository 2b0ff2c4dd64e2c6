/** What is to come, whether the agent may speak, and what each event led to. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import type { SessionHead } from '../api/shapes.ts'
import { useNow } from '../parts/clock.ts'
import { Badge, Panel } from '../parts/parts.tsx'
import { PassageCard } from './passage-card.tsx'
import type { Passage } from './story.ts'
import { TimersPanel } from './timers-panel.tsx'
import type { Older } from './use-session.ts'
import { gateWords } from './words.ts'

/** What a card is taken for until it is measured. */
const CARD_PX = 110
const OVERSCAN = 6
/** This near to the oldest card older ones are asked for. */
const NEAR_CARDS = 15

interface Props {
  readonly head: SessionHead
  readonly passages: readonly Passage[]
  /** Whether older ones can be had. */
  readonly more: boolean
  readonly older: Older
}

export function Corridor({ head, passages, more, older }: Props) {
  return (
    <>
      <GatePanel head={head} />
      <TimersPanel sessionKey={head.session_key} timers={head.timers} />
      <section
        aria-label="What happened"
        className="flex min-h-72 flex-1 flex-col rounded-lg border border-line bg-panel max-lg:h-[70dvh] max-lg:flex-none lg:min-h-48"
      >
        <div className="flex items-center justify-between gap-3 px-4 py-3">
          <h2 className="text-[13px] font-semibold">What happened</h2>
          <span className="text-xs text-muted">
            {head.done_seq} of {head.last_seq} {head.last_seq === 1 ? 'event' : 'events'} done
          </span>
        </div>
        <Cards passages={passages} more={more} older={older} />
      </section>
    </>
  )
}

/** The newest first; only those in sight are drawn. */
function Cards({ passages, more, older }: Omit<Props, 'head'>) {
  const scroller = useRef<HTMLDivElement>(null)
  const count = passages.length
  const passageAt = (index: number) => passages[count - 1 - index]
  const windowed = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => CARD_PX,
    overscan: OVERSCAN,
    getItemKey: (index) => passageAt(index)?.event.id ?? index,
  })
  const drawn = windowed.getVirtualItems()
  const last = drawn.at(-1)?.index ?? 0
  const near = more && !older.loading && last >= count - NEAR_CARDS
  useEffect(() => {
    if (near) older.load()
  }, [near, older.load])
  return (
    <div
      ref={scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: else it could not be scrolled by keyboard
      tabIndex={0}
      className="min-h-0 flex-1 overflow-y-auto px-4 pb-4 -outline-offset-2"
    >
      <ol style={{ height: windowed.getTotalSize(), paddingTop: drawn[0]?.start ?? 0 }}>
        {drawn.map(({ index, key }) => {
          const passage = passageAt(index)
          if (passage === undefined) return null
          return (
            <li key={key} ref={windowed.measureElement} data-index={index} className="pl-1.5">
              <PassageCard passage={passage} />
            </li>
          )
        })}
      </ol>
    </div>
  )
}

function GatePanel({ head }: { head: SessionHead }) {
  const now = useNow()
  const { state, tone, text } = gateWords(head.gate, head.consecutive_autonomous_msgs, now)
  return (
    <Panel title="May it follow up?" aside={<Badge tone={tone}>{state}</Badge>}>
      {/* Two lines in any state, so that what is below stays where it is. */}
      <p className="min-h-10 text-[13px] text-muted">{text}</p>
    </Panel>
  )
}
