/** What turns and the library take: the fields of HTTP in camelCase, with dates and plain values. */
import { RawJson } from '../../../packages/exact-json/src/index.ts'
import type { CatchUp } from '../../../packages/schedule/src/catch-up.ts'
import { Refusal } from '../../core/errors.ts'
import { readShape, where } from '../../core/shape.ts'
import { hasUnstorableJson } from '../../core/text.ts'
import type { Priority } from '../intents/rules.ts'
import type { Predicate } from '../intents/where.ts'
import { scheduleName, type WireSpec, wireSpec } from './fields.ts'

const OPAQUE_MAX_BYTES = 64 * 1024

type Words = string | readonly string[]
/** Exactly one condition. */
export type WhenSpec =
  | { readonly price: string; readonly below: number; readonly above?: undefined }
  | { readonly price: string; readonly above: number; readonly below?: undefined }
  | { readonly silentFor: string }
  | { readonly news: Words }
  | { readonly event: Words; readonly where?: readonly Predicate[] }
  | { readonly condition: string; readonly params?: Readonly<Record<string, unknown>> }
  | { readonly calendar: true | Words; readonly before?: string }

interface None {
  readonly in?: undefined
  readonly at?: undefined
  readonly every?: undefined
  readonly when?: undefined
}
type OneTime =
  /** How long from now: "10 minutes", or seconds. */
  | (Omit<None, 'in'> & { readonly in: string | number })
  /** Once: "tomorrow at 9am", an instant or a date. */
  | (Omit<None, 'at'> & { readonly at: string | Date })
  /** Again and again: "weekday at 8:30", "2 hours", or cron. */
  | (Omit<None, 'every'> & { readonly every: string })
  | (Omit<None, 'when'> & { readonly when: WhenSpec })
  /** Work that starts now. */
  | (None & { readonly run: string })

interface Common {
  /** Work for this executor instead of a wake. */
  readonly run?: string
  /** Parameters for the executor. */
  readonly with?: Readonly<Record<string, unknown>>
  /** The person's next message cancels it; with `in` or `at`. */
  readonly cancelOnReply?: boolean
  /** What the agent is told then; the name by default. */
  readonly note?: string
  /** Handed back with the event. */
  readonly data?: unknown
  /** An IANA name; the person's by default. `person` follows theirs when they move. */
  readonly timeZone?: string
  /** The last instant; with `every` or `when`. */
  readonly until?: string | Date
  /** How often at most; with `every` or `when`. */
  readonly times?: number
  /** Times missed: `once` fires one for all (default), `skip` none, `all` each. */
  readonly catchUp?: CatchUp
  readonly catchUpWithinSeconds?: number
  /** "10 minutes": each time comes later by less than that, always the same for a person and a schedule. */
  readonly spread?: string
  /** `critical` ignores quiet hours. */
  readonly priority?: Priority
  /** `fresh`: each wake begins a conversation of its own. */
  readonly thread?: 'same' | 'fresh'
}

export type ScheduleSpec = Common & OneTime

const WIRE: Readonly<Record<string, string>> = {
  cancelOnReply: 'cancel_on_reply',
  timeZone: 'timezone',
  catchUp: 'catch_up',
  catchUpWithinSeconds: 'catch_up_within_seconds',
  silentFor: 'silent_for',
}
const CAMEL = Object.fromEntries(Object.entries(WIRE).map(([camel, wire]) => [wire, camel]))

/** Texts that name fields as HTTP does, in the words of the library. */
const inCamelCase = (text: string) =>
  text.replaceAll(/\b[a-z]+(?:_[a-z]+)+\b|\btimezone\b/g, (name) => CAMEL[name] ?? name)

function renamed(value: object, names: Readonly<Record<string, string>>): Record<string, unknown> {
  const fields = Object.entries(value).map(([name, each]) => [names[name] ?? name, each])
  return Object.fromEntries(fields)
}

/** The spec in the names of HTTP, as a model's tool hands it in. */
export function specFromWire(args: Readonly<Record<string, unknown>>): ScheduleSpec {
  const { when, ...rest } = renamed(args, CAMEL)
  const condition = typeof when === 'object' && when !== null ? renamed(when, CAMEL) : when
  return { ...rest, ...(when === undefined ? {} : { when: condition }) } as unknown as ScheduleSpec
}

/** Runs `work` so that its refusals name fields as the library does. */
export function withCamelCase<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw camelCased(error)
  }
}

/** A refusal names fields as the library does; anything else stays as it is. */
export function camelCased(error: unknown): unknown {
  return error instanceof Refusal ? new Refusal(error.code, error.errors.map(inCamelCase)) : error
}

/** Throws a `Refusal` with all that is wrong with the shape. */
export function readName(name: unknown): string {
  const read = readShape(scheduleName, name)
  if ('data' in read) return read.data
  throw new Refusal(
    'shape',
    read.errors.map(({ message }) => `name: ${message}`),
  )
}

/** Throws a `Refusal` with all that is wrong with the shape. */
export function readSpec(spec: unknown): WireSpec {
  if (typeof spec !== 'object' || spec === null || Array.isArray(spec))
    throw new Refusal('shape', 'schedule: takes a name and an object that says when')
  const errors: string[] = []
  const snake = Object.keys(spec).filter((name) => CAMEL[name] !== undefined && !(name in WIRE))
  errors.push(...snake.map((name) => `${name}: is not a known field; use ${CAMEL[name]}`))
  const given = renamed(spec, WIRE)
  for (const field of ['at', 'until'])
    if (given[field] instanceof Date) given[field] = textOf(given[field])
  if (typeof given.when === 'object' && given.when !== null) given.when = renamed(given.when, WIRE)
  for (const field of ['data', 'with']) {
    const opaque = opaqueOf(given[field])
    if (typeof opaque === 'string') errors.push(`${field}: ${opaque}`)
    given[field] = typeof opaque === 'string' ? undefined : opaque
  }
  const read = readShape(wireSpec, given)
  if ('data' in read && errors.length === 0) return read.data
  if ('errors' in read)
    for (const { path, message } of read.errors)
      errors.push(inCamelCase(path.length === 0 ? message : `${where(path)}: ${message}`))
  throw new Refusal('shape', errors)
}

function textOf(date: Date): string {
  return Number.isNaN(date.getTime()) ? 'an invalid date' : date.toISOString()
}

/** Kept verbatim; a text says why it cannot be kept. */
function opaqueOf(value: unknown): RawJson | string | undefined {
  if (value === undefined || value instanceof RawJson) return value
  const text = JSON.stringify(value)
  if (text === undefined) return 'takes what JSON can hold'
  if (Buffer.byteLength(text) > OPAQUE_MAX_BYTES)
    return `takes at most ${OPAQUE_MAX_BYTES} bytes of JSON`
  if (hasUnstorableJson(text)) return 'holds a NUL or half of a surrogate pair'
  return new RawJson(text)
}
