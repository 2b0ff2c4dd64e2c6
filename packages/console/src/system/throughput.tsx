/** How much came due and how late it was taken up, and what was held back by which rule. */
import { Link } from 'wouter'
import type { Activity } from '../api/activity.ts'
import type { Kind } from '../api/ledger.ts'
import { KIND_NAMES } from '../parts/outcome.tsx'
import { Panel } from '../parts/parts.tsx'
import { lasting } from '../parts/time.ts'
import { shownZone } from '../parts/zone.ts'
import { DAY_PARTS, dayOf, type HourColumn, heightOf, partsOf, weekOf } from './columns.ts'
import { Plot, Scale, Times } from './plot.tsx'

/** Shades of one colour: which kind it is says nothing about how it went. */
const KIND_LOOKS: Readonly<Record<Kind, { readonly fill: string; readonly dot: string }>> = {
  timer: { fill: 'fill-accent/35', dot: 'bg-accent/35' },
  alarm: { fill: 'fill-accent', dot: 'bg-accent' },
  intent: { fill: 'fill-accent/55', dot: 'bg-accent/55' },
  work: { fill: 'fill-accent/75', dot: 'bg-accent/75' },
}

const hour = (at: number) =>
  new Intl.DateTimeFormat('en-GB', {
    timeZone: shownZone(),
    hour: '2-digit',
    minute: '2-digit',
  }).format(at)
const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric' })

export function DayPlot({ activity }: { activity: Activity }) {
  const columns = dayOf(activity)
  const total = columns.reduce((sum, column) => sum + column.total, 0)
  const late = columns.reduce((sum, column) => sum + column.late, 0)
  const worst = Math.max(...columns.map(({ worstMs }) => worstMs))
  if (total === 0)
    return (
      <Panel title="Throughput and lag, 24 hours">
        <p className="text-[13px] text-muted">Nothing was due in the last 24 hours.</p>
      </Panel>
    )
  const punctual = `${total.toLocaleString()} came due, ${late === 0 ? 'every one' : `${(total - late).toLocaleString()} of them`} taken up within a second; the latest after ${lasting(worst)}.`
  return (
    <Panel title="Throughput and lag, 24 hours">
      <p className="mb-3 text-[13px] text-muted">{punctual}</p>
      <Plot
        label={`What came due in each hour of the last day: ${punctual}`}
        columns={columns}
        parts={partsOf(columns, DAY_PARTS)}
        look={(kind) => ({ name: KIND_NAMES[kind], ...KIND_LOOKS[kind] })}
        time={hour}
        every={6}
        more={[
          { name: 'Late', of: (column) => (column as HourColumn).late.toLocaleString() },
          { name: 'Latest', of: (column) => lasting((column as HourColumn).worstMs) },
        ]}
      />
      <Lateness columns={columns} />
    </Panel>
  )
}

const BAND = 100
const STEP = 10

/** The latest of each hour; each line is ten times as long as the one below it. */
function Lateness({ columns }: { columns: readonly HourColumn[] }) {
  const worst = Math.max(...columns.map(({ worstMs }) => worstMs))
  return (
    <figure className="mt-5">
      <figcaption className="mb-1 ml-14 text-xs text-muted">
        Lag: the latest of each hour
      </figcaption>
      <div className="flex gap-2">
        <Scale top="1 h" bottom="1 ms" />
        <svg
          role="img"
          aria-label={`Lag: the latest of each hour; at most ${lasting(worst)}`}
          viewBox={`0 0 ${columns.length * STEP} ${BAND}`}
          preserveAspectRatio="none"
          className="h-20 min-w-0 flex-1 border-b border-line"
        >
          {[1_000, 60_000].map((ms) => (
            <line
              key={ms}
              x1="0"
              x2={columns.length * STEP}
              y1={BAND * (1 - heightOf(ms))}
              y2={BAND * (1 - heightOf(ms))}
              className="stroke-edge"
              strokeDasharray="2 2"
              vectorEffect="non-scaling-stroke"
            />
          ))}
          {columns.map(({ key, at, total, worstMs }, index) => (
            <g key={key}>
              <title>{`${hour(at)}: ${total === 0 ? 'nothing was due' : lasting(worstMs)}`}</title>
              <rect x={index * STEP} width={STEP} height={BAND} className="fill-transparent" />
              {total > 0 && (
                <rect
                  x={index * STEP + 1}
                  width={STEP - 2}
                  y={BAND * (1 - heightOf(worstMs)) - 2}
                  height={Math.max(2, BAND * heightOf(worstMs) + 2)}
                  className={
                    worstMs > 60_000 ? 'fill-bad' : worstMs > 1_000 ? 'fill-own-mark' : 'fill-good'
                  }
                />
              )}
            </g>
          ))}
        </svg>
      </div>
      <Times columns={columns} time={hour} every={6} />
      <p className="mt-1 ml-14 text-xs text-muted">The dashed lines are a second and a minute.</p>
    </figure>
  )
}

const RULES: Readonly<Record<string, string>> = {
  hard_cap_reached: 'too many in a row',
  cooldown_active: 'too soon after another',
}
const RULE_LOOKS = [
  { fill: 'fill-own-mark', dot: 'bg-own-mark' },
  { fill: 'fill-own-mark/60', dot: 'bg-own-mark/60' },
  { fill: 'fill-own-mark/35', dot: 'bg-own-mark/35' },
  { fill: 'fill-edge', dot: 'bg-edge' },
] as const

export function WeekPlot({ activity }: { activity: Activity }) {
  const columns = weekOf(activity)
  const rules = partsOf(columns, Object.keys(RULES))
  const total = columns.reduce((sum, column) => sum + column.total, 0)
  const nameOf = (rule: string) => RULES[rule] ?? rule.replaceAll('_', ' ')
  const lookOf = (rule: string) =>
    RULE_LOOKS[Math.min(rules.indexOf(rule), RULE_LOOKS.length - 1)] ?? RULE_LOOKS[0]
  return (
    <Panel
      title="Held back, 7 days"
      aside={
        <Link
          href="/activity?outcome=suppressed&span=week"
          className="text-[13px] text-accent underline underline-offset-2"
        >
          Show all
        </Link>
      }
    >
      {total === 0 ? (
        <p className="text-[13px] text-muted">
          No limit held anything back.{' '}
          <Link href="/system/settings" className="text-accent underline">
            The limits
          </Link>
        </p>
      ) : (
        <Plot
          label={`Messages held back on each day of the last week, by rule: ${total} in all`}
          columns={columns}
          parts={rules}
          look={(rule) => ({ name: nameOf(rule), ...lookOf(rule) })}
          time={(at) => day.format(at)}
          every={1}
        />
      )}
    </Panel>
  )
}
