/**
 * A question that the companion asked, kept in the session's state for the next sentence only. An answer to it is interpreted
 * with the question; any other sentence is interpreted alone.
 */
import { type Parsed, parsePhrase, ScheduleError } from '../../schedule/src/index.ts'
import type { Meaning, Place, Reminder } from './meaning.ts'
import { unclear } from './meaning.ts'
import { wordsOf } from './sentence.ts'
import { timeWordIn } from './when.ts'

/** Plan numbers refer to the list that was sent with the question. */
export type Asked =
  | { readonly about: 'cancel' | 'pause' | 'resume' | 'outputs'; readonly count: number }
  | { readonly about: 'move'; readonly to: string; readonly count: number }
  | { readonly about: 'postpone'; readonly by: string; readonly count: number }
  | { readonly about: 'remind'; readonly reminders: readonly Kept[] }
  | { readonly about: 'what'; readonly schedule: string }
  | { readonly about: 'when'; readonly what: string }

/** `schedule` is canonical, so it means the same instant whenever the answer comes. */
export interface Kept {
  readonly schedule: string
  readonly what: string
}

export function keptOf({ parsed, what }: Reminder): Kept {
  return { schedule: parsed.canonical, what }
}

const WHAT_MAX = 200

/** The meaning of the sentence as an answer to the question; null if it is not an answer. */
export function resumed(
  asked: Asked,
  meaning: Meaning,
  said: string,
  place: Place,
): Meaning | null {
  if (asked.about === 'when') {
    const fits = meaning.is === 'unclear' && meaning.about === 'what'
    return fits ? reminding(meaning.parsed, asked.what) : null
  }
  if (asked.about === 'what') {
    const isTalk = meaning.is === 'unclear' && meaning.about === 'anything'
    if (!isTalk || !isThing(said)) return null
    return scheduled({ schedule: asked.schedule, what: thing(said) }, place)
  }
  const count = asked.about === 'remind' ? asked.reminders.length : asked.count
  const number =
    meaning.is === 'pick' ? meaning.number : meaning.is === 'yes' && count === 1 ? 1 : 0
  if (number < 1 || number > count) return meaning.is === 'yes' ? choose(count) : null
  if (asked.about === 'remind') {
    const kept = asked.reminders[number - 1]
    return kept === undefined ? null : scheduled(kept, place)
  }
  if (asked.about === 'move') return { is: 'move', to: asked.to, number }
  if (asked.about === 'postpone') return { is: 'postpone', by: asked.by, number }
  return { is: asked.about, number }
}

function choose(count: number): Meaning {
  return unclear('other', `say which one, from 1 to ${count}`)
}

function isThing(said: string): boolean {
  return said.length <= WHAT_MAX && !/\?\s*$/.test(said) && timeWordIn(wordsOf(said)) === null
}

function thing(said: string): string {
  return said.replace(/^(?:to|that|about) /i, '').replace(/[\s.!]+$/, '')
}

function reminding(parsed: Parsed, what: string): Meaning {
  return { is: 'remind', phrase: parsed.canonical, parsed, what }
}

function scheduled({ schedule, what }: Kept, { timezone, now }: Place): Meaning {
  try {
    return reminding(parsePhrase(schedule, { timezone, now: now.getTime() }), what)
  } catch (error) {
    if (error instanceof ScheduleError) return unclear('time', ...error.errors)
    throw error
  }
}
