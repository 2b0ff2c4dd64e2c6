/** The chain behind an occurrence: due, checked, attempts, gate, messages, receipt, answer. Pure. */
import { type LedgerEntry, latenessMs } from '../api/ledger.ts'
import type { Turn } from '../api/shapes.ts'
import { lasting } from '../parts/time.ts'
import { REASON_NAMES, verdictWords } from '../session/words.ts'

export interface Step {
  readonly what: string
  readonly when?: string
  /** Where it lasted. */
  readonly until?: string
  readonly detail?: string
  readonly tone: 'plain' | 'good' | 'own' | 'bad'
}

const SEEN_MAX = 600
/** Nobody notices less. */
const LATE_MS = 1_000

/** `attempts`: every turn over its event, where they were read. */
export function chainOf(entry: LedgerEntry, attempts: readonly Turn[] = []): Step[] {
  return [
    due(entry),
    ...seen(entry),
    ...(attempts.length > 0 ? attempts.map(attempt) : turn(entry)),
    ...(entry.verdicts ?? []).map((verdict, index): Step => {
      const nth = index === 0 ? '' : `, message ${index + 1}`
      return {
        what: `The gate${nth} ${verdictWords(verdict)}`,
        tone: verdict.allowed ? 'good' : 'own',
      }
    }),
    ...output(entry),
    ...messages(entry),
    ...reply(entry),
    ...cause(entry),
  ]
}

function due(entry: LedgerEntry): Step {
  const { scheduled_for: when, at } = entry
  const late = latenessMs(entry)
  if (late < LATE_MS) return { what: 'Was due', when, tone: 'plain' }
  return { what: `Was due, taken up ${lasting(late)} late`, when, until: at, tone: 'own' }
}

function attempt({ attempt, status, started_at: when, finished_at, error }: Turn): Step {
  const until = finished_at === null ? {} : { until: finished_at }
  const took =
    finished_at === null
      ? ''
      : ` after ${lasting(Math.max(0, Date.parse(finished_at) - Date.parse(when)))}`
  const detail = error === undefined ? {} : { detail: error }
  const nth = attempt === 1 ? 'The agent' : `Attempt ${attempt}`
  if (status === 'committed')
    return { what: `${nth} ran for${took.replace(' after', '')}`, when, ...until, tone: 'good' }
  if (status === 'running') return { what: `${nth} is running`, when, tone: 'plain' }
  return { what: `${nth} failed${took}`, when, ...until, ...detail, tone: 'bad' }
}

function seen({ seen }: LedgerEntry): Step[] {
  if (seen === undefined || seen === null) return []
  const text = seenWords(seen)
  const detail = text.length > SEEN_MAX ? `${text.slice(0, SEEN_MAX)}…` : text
  return [{ what: 'Its check saw', detail, tone: 'plain' }]
}

/** "ticker NVDA, price 141.2": what is plain is told plainly. */
function seenWords(seen: unknown): string {
  if (typeof seen !== 'object' || seen === null || Array.isArray(seen)) return JSON.stringify(seen)
  return Object.entries(seen)
    .map(([name, value]) => {
      const told = typeof value === 'string' ? value : JSON.stringify(value)
      return `${name.replaceAll('_', ' ')} ${told}`
    })
    .join(', ')
}

function turn({ turn }: LedgerEntry): Step[] {
  if (turn === undefined) return []
  const took = lasting(Math.max(0, Date.parse(turn.finished_at) - Date.parse(turn.started_at)))
  const done = turn.status === 'committed'
  const what = done ? `The agent ran for ${took}` : `The agent failed after ${took}`
  const error = turn.error === null ? {} : { detail: turn.error }
  return [
    { what, when: turn.started_at, until: turn.finished_at, ...error, tone: done ? 'good' : 'bad' },
  ]
}

function output({ output }: LedgerEntry): Step[] {
  if (output === undefined) return []
  const title = output.title === null ? {} : { detail: output.title }
  const tone = output.status === 'failed' ? 'bad' : output.status === 'completed' ? 'good' : 'plain'
  return [{ what: `Run ${output.run_number}: ${output.status}`, ...title, tone }]
}

function messages({ effects }: LedgerEntry): Step[] {
  return (effects ?? []).map(
    ({ status, channel, reason, delivered_at, preview, error }, index): Step => {
      const way = channel === undefined ? '' : ` by ${channel}`
      const name = REASON_NAMES[reason]
      const nth = index === 0 ? name : `${name} ${index + 1}`
      const said = error ?? preview
      return {
        what: `${nth} ${status === 'completed' ? 'delivered' : status === 'failed' ? 'given up' : 'waits for its reader'}${way}`,
        ...(delivered_at === null ? {} : { when: delivered_at }),
        ...(said === undefined || said === '' ? {} : { detail: said }),
        tone: status === 'completed' ? 'good' : status === 'failed' ? 'bad' : 'plain',
      }
    },
  )
}

function reply({ reply }: LedgerEntry): Step[] {
  return reply === undefined ? [] : [{ what: 'The person answered', when: reply.at, tone: 'good' }]
}

/** The error or rule at the end, where nothing above has told it. */
function cause({ reason, turn, outcome, ended_at }: LedgerEntry): Step[] {
  const error = reason?.error
  if (error === undefined || error === turn?.error) return []
  const when = ended_at === undefined || ended_at === null ? {} : { when: ended_at }
  const what = outcome === 'failed' ? 'Gave up' : 'The last attempt failed'
  return [{ what, detail: error, ...when, tone: outcome === 'failed' ? 'bad' : 'own' }]
}
