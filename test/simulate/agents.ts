/**
 * Who runs the turns of a simulation. What is done at an attempt is told by its name alone, so that the checks can say afterwards what
 * it must have come to.
 */
import * as commands from '../../src/agents/commands.ts'
import type { WorkRun } from '../../src/agents/executor.ts'
import type { AgentFunction } from '../../src/agents/function.ts'
import { RetryableError, TerminalError } from '../../src/core/errors.ts'
import { fateOf } from './dice.ts'
import type { World } from './process.ts'
import type { Mortal } from './turnstile.ts'

export interface Behaviour {
  readonly ends: 'well' | 'fails' | 'gives up'
  /** Contents, in order. */
  readonly says: readonly string[]
  /** Seconds until each follow-up, by its name. */
  readonly followUps: readonly (readonly [string, number])[]
  readonly cancels: string | null
  readonly alarmInSeconds: number | null
}

const KNOWN_MAX = 10_000
const known = new Map<string, Behaviour>()

/** Of the turn over the event `seq` of the session `key`, at this attempt. The same always, so that it is reckoned once. */
export function behaviour(key: string, seq: number, attempt: number): Behaviour {
  const name = `${key} ${seq} ${attempt}`
  const found = known.get(name) ?? behaviourOf(key, seq, attempt)
  if (known.size < KNOWN_MAX) known.set(name, found)
  return found
}

function behaviourOf(key: string, seq: number, attempt: number): Behaviour {
  const fate = (what: string, count: number) => fateOf(`${key} ${seq} ${attempt} ${what}`, count)
  const ends = fate('ends', 12)
  return {
    ends: ends === 0 ? 'fails' : ends === 1 ? 'gives up' : 'well',
    says: Array.from(
      { length: [0, 1, 1, 2][fate('says', 4)] ?? 1 },
      (_, n) => `${key}#${seq}.${n}`,
    ),
    followUps: Array.from({ length: [0, 0, 1, 2][fate('follows', 4)] ?? 0 }, (_, n) => [
      `after-${seq}-${n}`,
      1 + fate(`when ${n}`, 40),
    ]),
    cancels: fate('cancels', 10) === 0 && seq > 1 ? `after-${seq - 1}-0` : null,
    alarmInSeconds: fate('alarm', 12) === 0 ? 5 + fate('alarm in', 60) : null,
  }
}

export function botOf({ turnstile, witness }: World, mortal: Mortal): AgentFunction {
  return async (turn) => {
    const { key } = turn.session
    const { seq } = turn.event
    witness.ran(key, seq, turn.attempt)
    // Its model: may take long, fail, or die with the process.
    await turnstile.pass(mortal, `agent ${key} ${seq}`, async () => undefined)
    const { ends, says, followUps, cancels, alarmInSeconds } = behaviour(key, seq, turn.attempt)
    if (ends === 'fails') throw new RetryableError({ message: 'not now' })
    if (ends === 'gives up') throw new TerminalError('never')
    const seen = (turn.state.seen ?? []) as number[]
    turn.state.seen = [...seen, seq]
    for (const text of says) turn.say(text)
    for (const [id, inSeconds] of followUps)
      turn.schedule(id, { in: inSeconds, cancelOnReply: true })
    if (cancels !== null) turn.cancel(cancels)
    if (alarmInSeconds !== null && turn.event.type === 'user_message')
      commands.setAlarm(turn, {
        schedule: `in ${alarmInSeconds} seconds`,
        wake_message: 'as promised',
      })
  }
}

export function scribeOf({ turnstile, witness }: World, mortal: Mortal) {
  return async (run: WorkRun) => {
    const slot = `${run.workId} ${run.scheduledFor.toISOString()}`
    witness.worked(slot)
    await turnstile.pass(mortal, `work ${slot}`, async () => undefined)
    if (fateOf(slot, 6) === 0) throw new Error('no paper')
    return { title: slot, content: 'done' }
  }
}
