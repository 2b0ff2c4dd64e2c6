/** The lanes of the next hour, day or week, with what has just been. Its table says the same in words. */
import { useLayoutEffect, useRef, useState } from 'react'
import { KINDS, type Kind } from '../api/ledger.ts'
import type { Overview } from '../api/overview.ts'
import { KIND_NAMES, KindDot, outcomeLabel } from '../parts/outcome.tsx'
import { lasting, timeOf } from '../parts/time.ts'
import { type Cluster, clustered, lateWords, type Mark, ticks } from './marks.ts'

/** Closer than this marks would cover each other. */
const APART_PX = 22
/** Until it is measured. */
const LANE_PX = 1_000
const TOLD_MAX = 4
const DAY_MS = 86_400_000
/** The server counts no further. */
const COUNTED_MAX = 1_000

interface Props {
  readonly from: number
  readonly now: number
  readonly to: number
  readonly tickMs: number
  readonly marks: readonly Mark[]
  /** What its lane does not show. */
  readonly more?: Readonly<Record<Kind, string>>
}

export function Timeline({ from, now, to, tickMs, marks, more }: Props) {
  const [told, setTold] = useState<Cluster | null>(null)
  const { lane, width } = useWidth()
  const share = (at: number) => `${(((at - from) / (to - from)) * 100).toFixed(3)}%`
  return (
    <figure aria-label="Timeline">
      <div
        role="img"
        aria-label={summary(marks, from, now, to)}
        className="relative grid grid-cols-[4.75rem_minmax(0,1fr)] sm:grid-cols-[6.5rem_minmax(0,1fr)]"
      >
        {KINDS.map((kind) => (
          <Lane
            key={kind}
            kind={kind}
            clusters={clustered(marks, kind, { from, now, to }, APART_PX / width)}
            more={more?.[kind] ?? ''}
            now={share(now)}
            onTell={setTold}
          />
        ))}
        <span />
        <div ref={lane} className="relative h-6 text-xs text-muted tabular-nums">
          {ticks(from, to, tickMs).map((at) => {
            const place = (at - from) / (to - from)
            // Words at the very edge would be cut.
            if (place < 0.03 || place > 0.97) return null
            return (
              <span
                key={at}
                style={{ left: share(at) }}
                className="absolute top-1 -translate-x-1/2 whitespace-nowrap odd:max-sm:hidden"
              >
                {tickWords(at, tickMs)}
              </span>
            )
          })}
        </div>
      </div>
      <figcaption className="mt-1 min-h-10 text-sm sm:min-h-6">
        {told === null ? <Legend /> : <Told cluster={told} />}
      </figcaption>
    </figure>
  )
}

/** How wide the lanes are: on a small screen more marks are drawn as one. */
function useWidth() {
  const lane = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(LANE_PX)
  useLayoutEffect(() => {
    const look = () => setWidth(lane.current?.clientWidth || LANE_PX)
    look()
    const watching = new ResizeObserver(look)
    if (lane.current !== null) watching.observe(lane.current)
    return () => watching.disconnect()
  }, [])
  return { lane, width }
}

/** What the lane does not show: whole triggers, or only later slots of those shown. */
export function moreWords({ more, triggers, slots }: Overview['lanes'][Kind]): string {
  if (!more) return ''
  const shown = new Set(slots.map(({ trigger_id }) => trigger_id)).size
  return triggers > shown
    ? `first of ${triggers.toLocaleString()}${triggers >= COUNTED_MAX ? '+' : ''}`
    : 'not all shown'
}

function summary(marks: readonly Mark[], from: number, now: number, to: number): string {
  const inside = marks.filter(({ at }) => at >= from && at <= to)
  const coming = inside.filter(({ past }) => past === null).length
  const failed = inside.filter(({ past }) => past?.outcome === 'failed').length
  const been = inside.length - coming
  return `From ${timeOf(new Date(from).toISOString(), now)} to ${timeOf(new Date(to).toISOString(), now)}: ${been} have been, ${failed} of them failed, ${coming} to come. The table below says which.`
}

interface LaneProps {
  readonly kind: Kind
  readonly clusters: readonly Cluster[]
  readonly more: string
  readonly now: string
  readonly onTell: (cluster: Cluster | null) => void
}

function Lane({ kind, clusters, more, now, onTell }: LaneProps) {
  return (
    <>
      <div className="flex items-center gap-2 border-t border-line py-2.5 text-sm">
        <KindDot kind={kind} />
        <span className="leading-tight">
          {KIND_NAMES[kind]}
          {more !== '' && <span className="block text-xs text-muted">{more}</span>}
        </span>
      </div>
      <div className="relative h-13 border-t border-line">
        <div style={{ width: now }} className="absolute inset-y-0 left-0 bg-sunk/60" />
        <div
          style={{ left: now }}
          className="absolute inset-y-0 w-0.5 -translate-x-1/2 bg-accent"
        />
        {clusters.map((cluster) => (
          <Dot key={cluster.marks[0]?.key} cluster={cluster} onTell={onTell} />
        ))}
      </div>
    </>
  )
}

const EDGES: Readonly<Record<Kind, string>> = {
  timer: 'border-timer',
  alarm: 'border-alarm',
  intent: 'border-intent',
  work: 'border-work',
}
const FILLS: Readonly<Record<Kind, string>> = {
  timer: 'bg-timer',
  alarm: 'bg-alarm',
  intent: 'bg-intent',
  work: 'bg-work',
}

function lookClass({ kind, look }: Cluster): string {
  switch (look) {
    case 'coming':
      return `rounded-full border-2 bg-panel ${EDGES[kind]}`
    case 'check':
      return `rounded-full border-2 border-dotted bg-panel ${EDGES[kind]}`
    case 'good':
      return `rounded-full border-2 ${EDGES[kind]} ${FILLS[kind]} text-panel`
    case 'quiet':
      return 'rounded-full border-2 border-edge bg-sunk'
    case 'held':
      return 'rounded-sm border-2 border-own-mark bg-own-soft text-own'
    case 'failed':
      return 'rotate-45 rounded-xs border-2 border-bad bg-bad text-panel'
  }
}

function Dot({ cluster, onTell }: { cluster: Cluster; onTell: (cluster: Cluster | null) => void }) {
  const many = cluster.marks.length
  return (
    <span
      style={{ left: `${(cluster.place * 100).toFixed(3)}%` }}
      onPointerEnter={() => onTell(cluster)}
      onPointerDown={() => onTell(cluster)}
      onPointerLeave={() => onTell(null)}
      className={`absolute top-1/2 flex -translate-x-1/2 -translate-y-1/2 items-center justify-center ${
        many > 1 ? 'h-5 min-w-5 px-1' : 'size-3.5'
      } ${lookClass(cluster)}`}
    >
      {many > 1 && (
        <span
          className={`text-[0.65rem] leading-none font-semibold tabular-nums ${cluster.look === 'failed' ? '-rotate-45' : ''}`}
        >
          {many > 99 ? '99+' : many}
        </span>
      )}
    </span>
  )
}

function Legend() {
  return (
    <span aria-hidden="true" className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
      <Sample className="rounded-full border-2 border-alarm bg-panel">to come</Sample>
      <Sample className="rounded-full border-2 border-dotted border-intent bg-panel">
        will look
      </Sample>
      <Sample className="rounded-full bg-alarm">delivered</Sample>
      <Sample className="rounded-full border-2 border-edge bg-sunk">nothing said</Sample>
      <Sample className="rounded-sm border-2 border-own-mark bg-own-soft">held back</Sample>
      <Sample className="rotate-45 rounded-xs bg-bad">failed</Sample>
    </span>
  )
}

function Sample({ className, children }: { className: string; children: string }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span className={`size-2.5 ${className}`} />
      {children}
    </span>
  )
}

function Told({ cluster }: { cluster: Cluster }) {
  const shown = cluster.marks.slice(0, TOLD_MAX)
  const rest = cluster.marks.length - shown.length
  return (
    <span className="flex flex-wrap gap-x-4">
      {shown.map((mark) => (
        <span key={mark.key} className="max-w-full truncate">
          <span className="tabular-nums">{timeOf(new Date(mark.at).toISOString())}</span>{' '}
          <span className="font-medium">{mark.name}</span>
          {mark.past !== null && (
            <span className="text-muted">
              {' '}
              · {outcomeLabel(mark.past.outcome)}, {lateWords(mark.past, lasting)}
            </span>
          )}
        </span>
      ))}
      {rest > 0 && <span className="text-muted">and {rest} more</span>}
    </span>
  )
}

const hours = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})
const days = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric' })

function tickWords(at: number, tickMs: number): string {
  return (tickMs >= DAY_MS ? days : hours).format(at)
}
