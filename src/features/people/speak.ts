/** What preferences make of a turn that wants to say something. Pure. */
import type { Verdict } from '../sessions/gate.ts'
import type { TurnAction } from '../sessions/turn.ts'
import { type Preferences, type PreferenceVerdict, roomFor, type Utterance } from './preferences.ts'
import { RULE_WORDS } from './words.ts'

/** Why nothing is said now. */
export type Deferral =
  | Exclude<PreferenceVerdict, { move: 'send' }>
  | {
      readonly move: 'defer'
      readonly rule: 'late' | 'stopped'
      readonly until: Date
      /** Its trigger goes on meanwhile: further slots of it are to be gathered with this one. */
      readonly goesOn?: boolean
    }

/** As the turn's row keeps it. */
export function heldVerdict(held: Deferral): Verdict {
  const { move, rule, until } = held
  const numbers = 'count' in held ? { count: held.count, max: held.max } : {}
  return {
    allowed: false,
    rule,
    deferred: move === 'defer',
    ...numbers,
    ...(until === undefined ? {} : { until }),
  } as Verdict
}

export function heldText({ move, rule, until }: Deferral): string {
  return move === 'defer'
    ? `deferred until ${until.toISOString()}: ${RULE_WORDS[rule]}`
    : `dropped: ${RULE_WORDS[rule]}`
}

const isMessage = (wish: TurnAction) => wish.type === 'send_message'
export const messagesIn = (wishes: readonly TurnAction[]) => wishes.filter(isMessage).length

/** The other wishes stay; they may have been about more than saying something. */
export function unsaid(wishes: readonly TurnAction[]): TurnAction[] {
  return wishes.filter((wish) => !isMessage(wish))
}

/** No more messages than the day has room for: what is beyond is said with the last of them. */
export function fitting(
  wishes: readonly TurnAction[],
  preferences: Preferences,
  { critical }: Utterance,
  now: Date,
): readonly TurnAction[] {
  const messages = messagesIn(wishes)
  const room = roomFor(preferences, messages, critical, now)
  if (room >= messages) return wishes
  const said: (TurnAction & { type: 'send_message' })[] = []
  for (const wish of wishes) {
    if (wish.type !== 'send_message') continue
    const last = said.at(-1)
    if (last !== undefined && said.length === room)
      said[said.length - 1] = {
        ...last,
        content: `${last.content}\n\n${wish.content}`,
        ...(last.question === undefined && wish.question !== undefined
          ? { question: wish.question }
          : {}),
        along: [...(last.along ?? []), ...(wish.along ?? [])],
      }
    else said.push(wish)
  }
  return [...said, ...unsaid(wishes)]
}
