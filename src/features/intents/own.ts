/** Conditions of an app: functions of its own that intents wait for. */

/** Asked again and again until it holds. Takes at most 30 seconds; `signal` is aborted then. */
export type Condition = (asked: {
  readonly params: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
  /** Whose intent it is. */
  readonly userId: string
}) => Promise<boolean | MetCondition> | boolean | MetCondition

/** With what was seen, for the agent. */
export interface MetCondition {
  readonly met: boolean
  /** JSON of at most 16 KiB. */
  readonly data?: unknown
}

/** What one poll saw, as the intent keeps it. */
export type Observed = MetCondition | { readonly error: string }

/** The error text for a condition that is not in `known`. */
export function conditionError(
  type: string | undefined,
  known: ReadonlyMap<string, Condition>,
): string | null {
  if (type === undefined || known.has(type)) return null
  const names = [...known.keys()].slice(0, 20).join(', ')
  const there = names === '' ? 'the app has none' : `there are ${names}`
  return `there is no condition ${JSON.stringify(type)} here; ${there}`
}
