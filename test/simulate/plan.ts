/**
 * A plan: what happens in a simulation, step by step, from one seed. Every step means something wherever it stands, so that any of
 * them can be left out and the rest still is a plan: that is how a failing one is made small.
 */
import { Dice } from './dice.ts'
import type { Fate } from './turnstile.ts'

export type Step =
  /** A person asks something of a process. */
  | { readonly do: 'ask'; readonly at: number; readonly user: string; readonly ask: Ask }
  /** An unanswered request is made again, perhaps elsewhere. */
  | { readonly do: 'again'; readonly at: number; readonly pick: number }
  | { readonly do: 'connect'; readonly at: number; readonly user: string; readonly acks: boolean }
  | { readonly do: 'leave'; readonly pick: number }
  /** A device acknowledges what it was sent, once or twice. */
  | { readonly do: 'acknowledge'; readonly pick: number; readonly times: number }
  /** So many waiting calls are let through; the last of them has this fate. */
  | { readonly do: 'run'; readonly calls: number; readonly dice: number; readonly fate: Fate }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'jump'; readonly ms: number }
  | { readonly do: 'kill'; readonly at: number }
  | { readonly do: 'freeze'; readonly at: number }
  | { readonly do: 'thaw'; readonly at: number }

export type Ask =
  | { readonly what: 'say' | 'tool' | 'pause' | 'resume'; readonly nth: number }
  | { readonly what: 'timer'; readonly nth: number; readonly seconds: number }
  | {
      readonly what: 'alarm'
      readonly nth: number
      readonly seconds: number
      readonly every: boolean
      readonly byCall: boolean
      readonly tries: number
    }
  | { readonly what: 'cancel'; readonly pick: number }
  | { readonly what: 'intent' | 'price' | 'work'; readonly nth: number; readonly seconds: number }

export const USERS = ['ann', 'ben', 'cat'] as const

const STEPS = {
  ask: 22,
  again: 4,
  connect: 4,
  leave: 2,
  acknowledge: 8,
  run: 45,
  pass: 16,
  jump: 1,
  kill: 3,
  freeze: 2,
  thaw: 4,
}
const ASKS = {
  say: 10,
  tool: 2,
  pause: 1.5,
  resume: 1,
  timer: 6,
  alarm: 5,
  cancel: 3,
  intent: 1,
  price: 2,
  work: 2,
}
/** Most of what is let through is done. */
const FATED: Readonly<Record<Fate, number>> = {
  done: 60,
  fails_before: 4,
  fails_within: 4,
  fails_after: 6,
  dies_before: 3,
  dies_within: 4,
  dies_after: 6,
}
const PAUSES_MS = [3, 200, 1_000, 1_000, 5_000, 12_000, 20_000, 31_000, 70_000, 600_000]
const JUMPS_MS = [-3_600_000, -30_000, 300_000, 3_600_000]

export function planOf(seed: number, length: number): Step[] {
  const dice = new Dice(seed)
  return Array.from({ length }, (_, nth) => stepOf(dice, nth))
}

function stepOf(dice: Dice, nth: number): Step {
  const kind = dice.weighed(STEPS)
  const [at, pick, user] = [dice.below(1000), dice.below(1000), dice.of(USERS)]
  switch (kind) {
    case 'ask':
      return { do: 'ask', at, user, ask: askOf(dice, nth) }
    case 'connect':
      return { do: 'connect', at, user, acks: dice.chance(0.8) }
    case 'acknowledge':
      return { do: 'acknowledge', pick, times: dice.chance(0.2) ? 2 : 1 }
    case 'run':
      return {
        do: 'run',
        calls: 1 + dice.below(dice.chance(0.3) ? 25 : 4),
        dice: dice.below(2 ** 31),
        fate: dice.weighed(FATED),
      }
    case 'pass':
      return { do: 'pass', ms: dice.of(PAUSES_MS) + dice.below(3) }
    case 'jump':
      return { do: 'jump', ms: dice.of(JUMPS_MS) }
    case 'leave':
      return { do: 'leave', pick }
    case 'again':
      return { do: 'again', at, pick }
    default:
      return { do: kind, at }
  }
}

function askOf(dice: Dice, nth: number): Ask {
  const what = dice.weighed(ASKS)
  // Never the same instant twice: what is due is told apart by it.
  const seconds = 1 + dice.below(50) + nth / 1000
  switch (what) {
    case 'say':
    case 'tool':
    case 'pause':
    case 'resume':
      return { what, nth }
    case 'timer':
      return { what, nth: dice.below(3), seconds }
    case 'alarm':
      return {
        ...{ what, nth, seconds: Math.ceil(seconds) },
        every: dice.chance(0.4),
        byCall: dice.chance(0.3),
        tries: 1 + dice.below(3),
      }
    case 'cancel':
      return { what, pick: dice.below(1000) }
    default:
      return { what, nth, seconds }
  }
}
