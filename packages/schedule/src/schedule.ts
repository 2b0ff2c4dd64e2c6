/** The types of this package, and its one error. */

/** Each of its times comes `offsetMs` later than it says, which is less than `withinMs`. */
export interface Spread {
  readonly withinMs: number
  readonly offsetMs: number
}

/** `until`: the last instant it may fire at, a spread not counted. */
export type Schedule =
  | { kind: 'cron'; expr: string; timezone: string; until?: number; spread?: Spread }
  | { kind: 'every'; everyMs: number; timezone: string; until?: number; spread?: Spread }
  | { kind: 'once'; at: number | null; timezone: string }

/** How much later than it says it fires. */
export const offsetOf = (schedule: Schedule): number =>
  schedule.kind === 'once' ? 0 : (schedule.spread?.offsetMs ?? 0)

/** The same without its spread. */
export function unspread<S extends Schedule>(schedule: S): S {
  if (schedule.kind === 'once' || schedule.spread === undefined) return schedule
  const { spread: _, ...plain } = schedule
  return plain as S
}

/** Read-only, since what was parsed once is handed out again. */
export interface Parsed {
  readonly schedule: Readonly<Schedule>
  /** A text that means the same when it is parsed again. */
  readonly canonical: string
  readonly description: string
  /** Every default that was assumed, in words. */
  readonly notes: readonly string[]
}

/** A refusal. Each error says what is wrong and what to write instead. */
export class ScheduleError extends Error {
  readonly errors: string[]

  constructor(errors: string | string[]) {
    const list = typeof errors === 'string' ? [errors] : [...errors]
    super(list.join('; '))
    this.name = 'ScheduleError'
    this.errors = list
  }
}

/** Text from outside, made fit to be quoted in a message. */
export function quoted(text: string, max = 40): string {
  const flat = text.replaceAll('\n', '\\n')
  return JSON.stringify(flat.length > max ? `${flat.slice(0, max)}…` : flat)
}
