/**
 * What tools say of their answers, in words: what was set or found, in the user's zone, with the next times and
 * the ids a later call needs. They read the JSON of the API, which may come from a server of another version, so a
 * field that is not there is left unsaid.
 */
import { fromNow } from '../core/span.ts'
import { dayText, quoted, whenText } from './instants.ts'

export type Fields = Readonly<Record<string, unknown>>
/** Says what an answer means. `now` is the present instant. */
export type Say = (answer: Fields, args: Fields, now: number) => string

const text = (from: Fields, name: string): string => {
  const value = from[name]
  return typeof value === 'string' ? value : ''
}
const number = (from: Fields, name: string): number | null => {
  const value = from[name]
  return typeof value === 'number' ? value : null
}
const instant = (value: unknown): number | null => {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? null : at
}
const instants = (value: unknown): number[] =>
  Array.isArray(value) ? value.map(instant).filter((at) => at !== null) : []
const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
const list = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fields) : [])
const zoneOf = (view: Fields, args: Fields = {}) =>
  text(view, 'timezone') || text(args, 'timezone') || 'UTC'
const sentences = (...parts: (string | false | null)[]) => parts.filter(Boolean).join(' ')

/** `tomorrow 09:00 Europe/Berlin, in 13 h 20 min; then …; then …`. */
function timesText(times: readonly number[], zone: string, now: number): string {
  const [first, ...rest] = times
  if (first === undefined) return ''
  return [whenText(first, zone, now), ...rest.map((at) => `then ${dayText(at, zone, now)}`)].join(
    '; ',
  )
}

function notesText(answer: Fields): string {
  const notes = Array.isArray(answer.notes) ? answer.notes.filter((n) => typeof n === 'string') : []
  return notes.map((note) => `Note: ${note}.`).join(' ')
}

/** What a stop is, and the id that ends it. */
export const sayStop: Say = (answer) => `${text(answer, 'words')} Its id is ${text(answer, 'id')}.`

export const sayHeld: Say = (answer, args, now) => {
  const held = list(answer.held)
  const lines = held.map(
    (each) =>
      `- ${text(each, 'session_key')}: ${text(each, 'kind')}, ${number(each, 'waiting')} waiting`,
  )
  const count = held.length === 0 ? 'Nothing is held.' : `It holds ${held.length}:`
  return [sentences(sayStop(answer, args, now), count), ...lines].join('\n')
}

export const sayStops: Say = (answer) =>
  listText(answer, ['stop', 'stops'], (item) => `${text(item, 'words')} (id ${text(item, 'id')})`)

/** A list in words: what there is, one line each, and how to get the rest. */
function listText(
  answer: Fields,
  [one, many]: readonly [string, string],
  line: (item: Fields) => string,
): string {
  const items = list(answer.data)
  if (items.length === 0) return `There are no ${many}.`
  const count = items.length === 1 ? `1 ${one}` : `${items.length} ${many}`
  const cursor = text(answer, 'next_cursor')
  const more =
    cursor === '' ? [] : [`There are more: call again with cursor ${JSON.stringify(cursor)}.`]
  return [`${count}, newest first:`, ...items.map((item) => `- ${line(item)}`), ...more].join('\n')
}

// Alarms

const alarmName = (view: Fields) =>
  text(view, 'label') === '' ? 'Alarm' : `Alarm ${quoted(text(view, 'label'))}`

function alarmTimes(view: Fields, now: number): string {
  const zone = zoneOf(view)
  const next = instants(view.next_fires)
  const first = instant(view.next_fire_at)
  return timesText(next.length > 0 ? next : first === null ? [] : [first], zone, now)
}

export const sayPromise: Say = (answer, args, now) =>
  answer.status === 'said'
    ? `Said: ${quoted(text(args, 'text'))}. ${saySetAlarm(fields(answer.alarm), args, now)}`
    : 'The conversation is busy: it is said, and its alarm set, when what came before has had its turn. Look with list_alarms.'

export const saySetAlarm: Say = (view, _args, now) => {
  const times = alarmTimes(view, now)
  const once = view.kind !== 'cron'
  const set = once
    ? `${alarmName(view)} set for ${times}.`
    : `${alarmName(view)} set: ${text(view, 'description')}. Next: ${times}.`
  const again = view.deduped === true
  return sentences(
    again && 'This idempotency_key was used before, so nothing new was set. This is the first one:',
    again && times === '' ? `${alarmName(view)} is ${text(view, 'status')}.` : set,
    notesText(view),
    `Its id is ${text(view, 'id')}.`,
  )
}

export const sayAlarm: Say = (view, _args, now) => {
  const times = alarmTimes(view, now)
  const fired = instant(view.last_fired_at)
  const failures = number(view, 'failure_count') ?? 0
  const error = text(view, 'last_error')
  return sentences(
    `${alarmName(view)} is ${text(view, 'status')}: ${text(view, 'description')}.`,
    times !== '' && `Next: ${times}.`,
    fired !== null && `Last fired ${whenText(fired, zoneOf(view), now)}.`,
    (failures > 0 || error !== '') && `Failed attempts at this slot: ${failures}.`,
    error !== '' && `Last error: ${quoted(error, 200)}.`,
    `It says ${quoted(text(view, 'wake_message'))}. Its id is ${text(view, 'id')}.`,
  )
}

export const sayAlarms: Say = (answer, _args, now) =>
  listText(answer, ['alarm', 'alarms'], (view) => {
    const first = instants(view.next_fires)[0] ?? instant(view.next_fire_at)
    const next = first === null ? '' : `, next ${whenText(first, zoneOf(view), now)}`
    return `${alarmName(view)} (${text(view, 'status')}): ${text(view, 'description')}${next}. Says ${quoted(text(view, 'wake_message'))}. id ${text(view, 'id')}`
  })

export const sayCancelledAlarm: Say = (view) =>
  text(view, 'status') === 'cancelled'
    ? `${alarmName(view)} is cancelled and will not fire. Its id was ${text(view, 'id')}.`
    : `${alarmName(view)} had already ended as ${text(view, 'status')}; nothing was changed.`

// Schedules

export const sayPreview: Say = (view, args, now) => {
  const times = timesText(instants(view.next), zoneOf(view, args), now)
  return sentences(
    `This means: ${text(view, 'description')}.`,
    times === '' ? 'It has no time left to fire.' : `It would fire ${times}.`,
    text(view, 'canonical') !== '' && `Written exactly: ${text(view, 'canonical')}.`,
    notesText(view),
    'Nothing was set.',
  )
}

/** Of a forecast so many are told one by one; the days are told in any case. */
const FORECAST_SHOWN = 40

export const sayForecast: Say = (view, _args, now) => {
  const zone = zoneOf(view)
  const all = list(view.occurrences)
  const line = (each: Fields) => {
    const trigger = fields(each.trigger)
    const at = instant(each.at)
    const said = text(each, 'text')
    const draft = trigger.draft === true ? ' (draft)' : ''
    return `- ${at === null ? '' : dayText(at, zone, now)} ${text(trigger, 'kind')} ${quoted(text(trigger, 'name'))}${draft}: ${text(each, 'words')}${said === '' ? '' : ` ${quoted(said)}`}`
  }
  const counts = (each: Fields) =>
    ['said', 'deferred', 'gathered', 'dropped'].map((name) => `${number(each, name) ?? 0} ${name}`)
  const cut = fields(view.cut)
  const rest = all.length + (number(view, 'more') ?? 0) - Math.min(all.length, FORECAST_SHOWN)
  return [
    `Forecast, nothing was set or sent. All in all: ${counts(fields(view.totals)).join(', ')}.`,
    ...list(view.by_day).map((each) => `${text(each, 'day')}: ${counts(each).join(', ')}`),
    ...all.slice(0, FORECAST_SHOWN).map(line),
    ...(rest > 0 ? [`… and ${rest} more.`] : []),
    ...(view.cut === null || view.cut === undefined
      ? []
      : [
          `It was cut there: too many ${text(cut, 'why')}; most often came ${quoted(text(fields(cut.busiest), 'name'))}.`,
        ]),
    notesText(view),
  ]
    .filter(Boolean)
    .join('\n')
}

// Intents

/** How many a list holds where no limit is given. */
const INTENTS_SHOWN = 50
const intentName = (view: Fields) => `Intent ${quoted(text(view, 'intent_name'))}`

function intentTimes(view: Fields, now: number): string {
  const next = instants(view.next_checks)
  const first = instant(view.next_check)
  return timesText(next.length > 0 ? next : first === null ? [] : [first], zoneOf(view), now)
}

function intentState(view: Fields, now: number): string {
  const times = intentTimes(view, now)
  const what = text(view, 'schedule_description') || text(view, 'trigger_type')
  const state = view.enabled === false ? 'switched off' : 'on'
  return sentences(
    `is ${state}${what === '' ? '' : `: ${what}`}.`,
    view.enabled !== false && times !== '' && `Next check: ${times}.`,
    view.agent_id === null && 'It names no agent_id, so a worker outside has to fetch and run it.',
    `Its id is ${text(view, 'id')}.`,
  )
}

export const sayCreatedIntent: Say = (view, _args, now) =>
  sentences(`${intentName(view)} was created and ${intentState(view, now)}`, notesText(view))
export const sayUpdatedIntent: Say = (view, _args, now) =>
  sentences(`${intentName(view)} was changed and ${intentState(view, now)}`, notesText(view))
export const sayDeletedIntent: Say = (_answer, args) =>
  `The intent ${String(args.id ?? '')} was deleted and will not be checked again.`
export const sayIntents: Say = (answer, args, now) => {
  const shown = list(answer.data).length
  const said = listText(
    answer,
    ['intent', 'intents'],
    (view) => `${intentName(view)} ${intentState(view, now)}`,
  )
  // These lists have no cursor: a full page may not be the last one.
  const full = shown > 0 && shown >= Number(args.limit ?? INTENTS_SHOWN)
  const offset = Number(args.offset ?? 0) + shown
  return full ? `${said}\nThere may be more: call again with offset ${offset}.` : said
}

// Work

const workName = (view: Fields) => `Work ${quoted(text(view, 'task'))}`

function workState(work: Fields, now: number): string {
  const next = instants(work.next_runs)
  const first = instant(work.next_run_at)
  const known = next.length > 0 ? next : first === null ? [] : [first]
  const times = timesText(known, zoneOf(work), now)
  const rhythm = text(work, 'description') || text(work, 'frequency')
  const paused = work.is_active === false && text(work, 'frequency') !== 'once'
  return sentences(
    paused ? `is paused; its rhythm is ${rhythm}.` : `runs ${rhythm}.`,
    work.is_active !== false && times !== '' && `Next run: ${times}.`,
    `Its id is ${text(work, 'id')}.`,
  )
}

function outputText(output: Fields, now: number): string {
  const status = text(output, 'status')
  if (status === '') return ''
  const title = text(output, 'title')
  const error = text(output, 'error_message')
  const at = instant(output.completed_at) ?? instant(output.started_at)
  return sentences(
    `Run ${String(output.run_number ?? '')} is ${status}${title === '' ? '' : `: ${quoted(title)}`}${at === null ? '' : ` (${fromNow(at, now)})`}.`,
    error !== '' && `Error: ${quoted(error, 200)}.`,
  )
}

export const sayCreatedWork: Say = (answer, _args, now) => {
  const work = fields(answer.work)
  return sentences(
    `${workName(work)} was created and ${workState(work, now)}`,
    outputText(fields(answer.output), now),
    notesText(work) || notesText(answer),
  )
}
export const sayWork: Say = (answer, _args, now) => {
  const work = fields(answer.work)
  const outputs = list(answer.outputs)
  return [
    `${workName(work)} ${workState(work, now)}`,
    ...outputs.map((output) => `- ${outputText(output, now)}`),
  ].join('\n')
}
export const sayUpdatedWork: Say = (answer, _args, now) => {
  const work = answer.work === undefined ? answer : fields(answer.work)
  return sentences(`${workName(work)} was changed and ${workState(work, now)}`, notesText(work))
}
export const sayDeletedWork: Say = (_answer, args) =>
  `The work ${String(args.id ?? '')} was deleted with all of its outputs.`
export const sayWorks: Say = (answer, _args, now) =>
  listText(
    answer,
    ['piece of work', 'pieces of work'],
    (work) => `${workName(work)} ${workState(work, now)}`,
  )

// The ledger

export const sayLedger: Say = (answer, args, now) =>
  listText(answer, ['entry', 'entries'], (entry) => {
    const trigger = fields(entry.trigger)
    const at = instant(entry.scheduled_for) ?? instant(entry.at)
    const when = at === null ? '' : `${dayText(at, zoneOf(args), now)} `
    const name = text(trigger, 'name')
    const what = `${text(trigger, 'kind')}${name === '' ? '' : ` ${quoted(name)}`}`
    const why = text(entry, 'words') || `${text(entry, 'outcome')} ${text(entry, 'reason')}`.trim()
    return `${when}${what}: ${why}`
  })

// People

export const sayPreferences: Say = (view) => {
  const said = Array.isArray(view.words)
    ? view.words.filter((each) => typeof each === 'string')
    : []
  const deferred = number(view, 'deferred') ?? 0
  return sentences(
    `${text(view, 'user_id')}:`,
    ...said,
    deferred > 0 && `${deferred} deferred until their moment comes.`,
    notesText(view),
  )
}

const optionsText = (view: Fields) =>
  Array.isArray(view.options) ? view.options.map((each) => quoted(String(each))).join(' or ') : ''

/** `"Send it?" is open: "Yes" or "No"; "No" counts from tomorrow 09:00 on. Its id is …`. */
const questionLine = (view: Fields, zone: string, now: number): string => {
  const at = instant(view.until_at)
  const asked = quoted(text(view, 'text'))
  if (view.status !== 'open') {
    const came = text(view, 'answer') === '' ? '' : `: ${quoted(text(view, 'answer'))}`
    return `${asked} is ${text(view, 'status')}${came}. Its id is ${text(view, 'id')}.`
  }
  const then =
    at === null
      ? ''
      : `; ${quoted(text(view, 'default_answer'))} counts from ${whenText(at, zone, now)} on`
  return `${asked} is open: ${optionsText(view)}${then}. Its id is ${text(view, 'id')}.`
}

export const sayQuestion: Say = (view, args, now) => questionLine(view, zoneOf(view, args), now)

export const sayQuestions: Say = (answer, args, now) =>
  listText(answer, ['question', 'questions'], (view) => questionLine(view, zoneOf(view, args), now))

export const sayAnswered: Say = ({ question }, args, now) =>
  `Answered. ${sayQuestion(fields(question), args, now)}`
