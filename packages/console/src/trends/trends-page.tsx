/** How the last day and the last week went: how much was due and how late it came, what was held back and why, and what runs. */
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { type Activity, readActivity } from '../api/activity.ts'
import type { Kind } from '../api/ledger.ts'
import { KIND_NAMES } from '../parts/outcome.tsx'
import { Empty, Heading, Panel } from '../parts/parts.tsx'
import { lasting } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { DAY_PARTS, dayOf, type HourColumn, heightOf, partsOf, weekOf } from './columns.ts'
import { Plot, Scale, Times } from './plot.tsx'
import { Runs } from './runs.tsx'

const LOOK_MS = 30_000
/** While something runs its progress is what one came for. */
const LOOK_LIVE_MS = 2_000

export function TrendsPage() {
  const { data, error, refetch } = useQuery({
    queryKey: ['activity'],
    queryFn: ({ signal }) => readActivity(signal),
    refetchInterval: ({ state }) => (state.data?.runs.length ? LOOK_LIVE_MS : LOOK_MS),
  })
  return (
    <>
      <Heading title="Trends">
        How much was due in the last day and how late it came, and what was held back in the last
        week.
      </Heading>
      {error !== null && <Trouble spaced error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <p className="text-muted">Loading …</p>}
      {data !== undefined && (
        <div className="grid grid-cols-1 items-start gap-4 xl:grid-cols-2">
          <Day activity={data} />
          <div className="flex flex-col gap-4">
            <Week activity={data} />
            <Runs runs={data.runs} />
          </div>
        </div>
      )}
    </>
  )
}

const KIND_LOOKS: Readonly<Record<Kind, { readonly fill: string; readonly dot: string }>> = {
  timer: { fill: 'fill-timer', dot: 'bg-timer' },
  alarm: { fill: 'fill-alarm', dot: 'bg-alarm' },
  intent: { fill: 'fill-intent', dot: 'bg-intent' },
  work: { fill: 'fill-work', dot: 'bg-work' },
}

const hour = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})
const day = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric' })

function Day({ activity }: { activity: Activity }) {
  const columns = dayOf(activity)
  const total = columns.reduce((sum, column) => sum + column.total, 0)
  const late = columns.reduce((sum, column) => sum + column.late, 0)
  const worst = Math.max(...columns.map(({ worstMs }) => worstMs))
  if (total === 0)
    return (
      <Panel title="The last 24 hours">
        <Empty title="Nothing was due">
          Every timer, alarm, intent and run of work that comes due is counted here, by the hour.
        </Empty>
      </Panel>
    )
  const punctual = `${total.toLocaleString()} came due, ${late === 0 ? 'every one' : `${(total - late).toLocaleString()} of them`} within a second; the latest after ${lasting(worst)}.`
  return (
    <Panel title="The last 24 hours">
      <p className="mb-3 text-sm text-muted">{punctual}</p>
      <Plot
        label={`What came due in each hour of the last day: ${punctual}`}
        columns={columns}
        parts={partsOf(columns, DAY_PARTS)}
        look={(kind) => ({ name: KIND_NAMES[kind], ...KIND_LOOKS[kind] })}
        time={(at) => hour.format(at)}
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
      <figcaption className="mb-1 ml-14 text-xs text-muted">The latest of each hour</figcaption>
      <div className="flex gap-2">
        <Scale top="1 h" bottom="1 ms" />
        <svg
          role="img"
          aria-label={`The latest of each hour; at most ${lasting(worst)}`}
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
              <title>{`${hour.format(at)}: ${total === 0 ? 'nothing was due' : lasting(worstMs)}`}</title>
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
      <Times columns={columns} time={(at) => hour.format(at)} every={6} />
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
  { fill: 'fill-intent', dot: 'bg-intent' },
  { fill: 'fill-timer', dot: 'bg-timer' },
  { fill: 'fill-work', dot: 'bg-work' },
  { fill: 'fill-edge', dot: 'bg-edge' },
] as const

function Week({ activity }: { activity: Activity }) {
  const columns = weekOf(activity)
  const rules = partsOf(columns, Object.keys(RULES))
  const total = columns.reduce((sum, column) => sum + column.total, 0)
  const nameOf = (rule: string) => RULES[rule] ?? rule.replaceAll('_', ' ')
  const lookOf = (rule: string) =>
    RULE_LOOKS[Math.min(rules.indexOf(rule), RULE_LOOKS.length - 1)] ?? RULE_LOOKS[0]
  return (
    <Panel
      title="Held back in the last 7 days"
      aside={
        <Link
          href="/why/suppressed"
          className="whitespace-nowrap text-sm text-accent underline underline-offset-2"
        >
          Each of them
        </Link>
      }
    >
      {total === 0 ? (
        <Empty title="Nothing was held back">
          What an agent wanted to say on its own initiative, and a limit kept it from, is counted
          here by its rule.{' '}
          <Link href="/rules" className="text-accent underline">
            The limits
          </Link>
        </Empty>
      ) : (
        <>
          <p className="mb-3 text-sm text-muted">
            {total === 1 ? 'One message was' : `${total.toLocaleString()} messages were`} not sent,
            since a limit said no.
          </p>
          <Plot
            label={`Messages held back on each day of the last week, by rule: ${total} in all`}
            columns={columns}
            parts={rules}
            look={(rule) => ({ name: nameOf(rule), ...lookOf(rule) })}
            time={(at) => day.format(at)}
            every={1}
          />
        </>
      )}
    </Panel>
  )
}
