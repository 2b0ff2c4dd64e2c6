/** The result of a forecast, read from the ledger of its store: what would be sent, deferred, gathered and dropped, when and why. */
import { dayText, quoted } from '../../../src/core/words.ts'
import { entryOf } from '../../../src/features/ledger/entry-operations.ts'
import { grouped } from '../../../src/features/ledger/event-operations.ts'
import { readLedger } from '../../../src/features/ledger/page-operations.ts'
import { OUTCOMES, type Outcome } from '../../../src/features/ledger/rules.ts'
import type { Slot } from '../../../src/features/ledger/slot-operations.ts'
import type { Db } from '../../../src/store/db.ts'
import { formatLocal } from '../../schedule/src/index.ts'
import { openEvents } from './copy.ts'
import type { Held, Plan } from './forecast.ts'

const PAGE = 1000

type Entry = ReturnType<typeof entryOf>

/** How a slot was deferred, and the event that released it. */
interface DeferredRow {
  readonly id: string
  readonly rule: string
  readonly deferred_at: Date
  readonly event_id: string | null
  readonly event_at: Date | null
  readonly together: number
}

/** By the ids of the slots' first events. */
async function deferredRows(db: Db): Promise<Map<string, DeferredRow>> {
  const rows = await db.query<DeferredRow>(
    `select p.id, p.rule, p.deferred_at, e.id as event_id, e.created_at as event_at,
       count(*) over (partition by p.session_key, p.released_seq)::int as together
     from wakeful.deferred p
     left join wakeful.events e on e.bucket = p.bucket and e.session_key = p.session_key and e.seq = p.released_seq`,
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** The event that announces a run of work; not a slot of its own. */
interface NoticeRow {
  readonly id: string
  readonly run: string
  readonly said_at: Date | null
}

/** The first event of each run; a deferred one counts when it is released. */
async function noticeRows(db: Db): Promise<Map<string, NoticeRow>> {
  const rows = await db.query<NoticeRow>(
    `select e.id, (e.payload ->> 'work_id') || ' ' || (e.payload ->> 'run_number') as run,
       (select f.created_at from wakeful.effects f where f.bucket = e.bucket and f.session_key = e.session_key
          and f.event_seq = coalesce(p.released_seq, e.seq) and f.type = 'send_message' order by f.position limit 1) as said_at
     from wakeful.events e left join wakeful.deferred p on p.bucket = e.bucket and p.id = e.id
     where e.type = 'work' and e.payload ->> 'notice' = 'true' order by e.created_at desc, e.seq desc`,
  )
  return new Map(rows.map((row) => [row.run, row]))
}

/** Every slot that was promoted in the forecast, or open at its start, oldest first. */
async function slotsIn(db: Db, { userId, from, copy }: Plan): Promise<Slot[]> {
  const open = openEvents(copy)
  const all: Slot[] = []
  let after: readonly [string, string] | null = null
  do {
    const page = await readLedger(db, {
      ...{ userId, session: null, kind: null, triggerId: null, outcome: null },
      ...{ from: null, to: null, after, limit: PAGE },
    })
    all.push(...page.slots)
    after = page.next
  } while (after !== null)
  return all.filter(({ row }) => row.at >= from || open.has(row.id)).reverse()
}

export async function toldOf(
  db: Db,
  plan: Plan & { readonly timezone: string },
  held: Held,
  limit: number,
) {
  const { timezone } = plan
  const slots = await slotsIn(db, plan)
  const [deferred, notices] = [await deferredRows(db), await noticeRows(db)]
  const occurrences = slots.map((slot) => {
    const entry = entryOf(slot, timezone, held.to)
    const notice = notices.get(`${entry.trigger.id} ${entry.output?.run_number}`)
    const waited = deferred.get(notice?.id ?? entry.id)
    return occurrence(entry, waited, { ...plan, ...held, said: notice?.said_at ?? saidAt(entry) })
  })
  const told = {
    occurrences: occurrences.slice(0, limit),
    more: Math.max(0, occurrences.length - limit),
    totals: countsOf(occurrences),
    by_day: byDay(occurrences, timezone),
    cut: held.cut === null ? null : { at: held.to, why: held.cut, busiest: busiest(occurrences) },
  }
  return { ...told, words: wordsOf(told, plan) }
}

/** So many occurrences are in the words; the days are in any case. */
const IN_WORDS = 40

interface Told {
  readonly occurrences: readonly Occurrence[]
  readonly more: number
  readonly totals: Counts
  readonly by_day: readonly (Counts & { readonly day: string })[]
  readonly cut: { readonly why: string; readonly busiest: ReturnType<typeof busiest> } | null
}

function wordsOf(
  { occurrences, more, totals, by_day, cut }: Told,
  { timezone, from }: Plan & { readonly timezone: string },
) {
  const lines = occurrences.slice(0, IN_WORDS).map(({ at, trigger, words, text }) => {
    const when = dayText(at.getTime(), timezone, from.getTime())
    const name = `${trigger.kind} ${quoted(trigger.name)}${trigger.draft ? ' (draft)' : ''}`
    return `- ${when} ${name}: ${words}${text === undefined ? '' : ` ${quoted(text)}`}`
  })
  const rest = occurrences.length + more - lines.length
  return [
    `Forecast, nothing was set or sent. All in all: ${countsText(totals)}.`,
    ...by_day.map((each) => `${each.day}: ${countsText(each)}`),
    ...lines,
    ...(rest > 0 ? [`… and ${rest} more.`] : []),
    ...(cut === null
      ? []
      : [
          `It was cut there: too many ${cut.why}; most often came ${quoted(cut.busiest?.name ?? '')}.`,
        ]),
  ].join('\n')
}

const countsText = ({ said, deferred, gathered, dropped }: Counts) =>
  `${said} said, ${deferred} deferred, ${gathered} gathered, ${dropped} dropped`

function saidAt({ effects, turn }: Entry): Date | null {
  return effects.length > 0 ? (turn?.finished_at ?? null) : null
}

function occurrence(
  entry: Entry,
  deferred: DeferredRow | undefined,
  { run, drafted, said }: Pick<Plan, 'run'> & Pick<Held, 'drafted'> & { said: Date | null },
) {
  const { trigger, effects } = entry
  return {
    ...{ id: entry.id, at: entry.at, scheduled_for: entry.scheduled_for },
    trigger: { ...trigger, draft: drafted.has(trigger.id ?? '') },
    session_key: entry.session_key,
    ...{ outcome: entry.outcome, reason: entry.reason, words: entry.words, said_at: said },
    text: run && effects.length > 0 ? effects.map(({ preview }) => preview).join('\n') : undefined,
    deferred:
      deferred === undefined
        ? undefined
        : { rule: deferred.rule, from: deferred.deferred_at, until: deferred.event_at },
    gathered:
      deferred === undefined || deferred.event_id === null || deferred.together < 2
        ? undefined
        : { into: deferred.event_id, together: deferred.together },
    missed_count: entry.missed_count,
    ...{ seen: entry.seen, repeats: entry.repeats },
  }
}

type Occurrence = ReturnType<typeof occurrence>
type Counts = ReturnType<typeof countsOf>

const DROPPED: ReadonlySet<Outcome> = new Set(['suppressed', 'missed', 'expired', 'cancelled'])

function countsOf(all: readonly Occurrence[]) {
  const outcomes = OUTCOMES.map((name) => [name, all.filter((o) => o.outcome === name).length])
  return {
    said: all.filter(({ said_at }) => said_at !== null).length,
    deferred: all.filter(({ deferred }) => deferred !== undefined).length,
    gathered: all.filter(({ gathered }) => gathered !== undefined).length,
    dropped: all.filter(({ outcome }) => DROPPED.has(outcome)).length,
    outcomes: Object.fromEntries(outcomes.filter(([, count]) => count !== 0)),
  }
}

/** Days in the person's zone. A slot counts on the day of its time, a message on the day it is sent. */
function byDay(all: readonly Occurrence[], timezone: string) {
  const dayOf = (at: Date) => formatLocal(at.getTime(), timezone).slice(0, 10)
  const said = all.flatMap(({ said_at }) => (said_at === null ? [] : [dayOf(said_at)]))
  const slots = grouped(all, ({ at }) => dayOf(at))
  return [...new Set([...slots.keys(), ...said])].sort().map((day) => ({
    ...{ day, ...countsOf(slots.get(day) ?? []) },
    said: said.filter((each) => each === day).length,
  }))
}

/** The most frequent trigger, reported when the forecast hits a limit. */
function busiest(all: readonly Occurrence[]) {
  const counts = [...grouped(all, ({ trigger }) => trigger.id ?? '')]
  const [first] = counts.toSorted(([, a], [, b]) => b.length - a.length)
  if (first === undefined) return null
  const [, [one, ...others]] = first
  return one === undefined ? null : { ...one.trigger, occurrences: others.length + 1 }
}
