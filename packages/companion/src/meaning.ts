/** What a sentence can mean to the companion. */
import type { PreferenceRequest } from '../../../src/agents/reads.ts'
import type { Operator } from '../../../src/features/intents/rules.ts'
import type { Parsed } from '../../schedule/src/index.ts'

/** What to say, and when. */
export interface Reminder {
  readonly phrase: string
  readonly parsed: Parsed
  readonly what: string
}

/** One of the plans, by the number it was listed under or by words of its title; an empty name is "it". */
export type Target = { readonly number: number } | { readonly name: string }

type Plain = 'hello' | 'thanks' | 'stop' | 'why' | 'help' | 'yes' | 'no'

export type Meaning =
  | ({ readonly is: 'remind' } & Reminder)
  /** Several reminders in one sentence. */
  | { readonly is: 'remind_all'; readonly reminders: readonly Reminder[] }
  /** Needs confirmation: yes for one, a number to choose among several. */
  | { readonly is: 'offer'; readonly reminders: readonly Reminder[]; readonly why: string }
  /** `phrase` null: once, now. */
  | { readonly is: 'report'; readonly phrase: string | null; readonly parsed: Parsed | null }
  | {
      readonly is: 'work'
      readonly type: 'research' | 'content'
      readonly task: string
      /** Null: once, now. */
      readonly phrase: string | null
      readonly parsed: Parsed | null
    }
  | {
      readonly is: 'price'
      readonly ticker: string
      readonly operator: Operator
      readonly value: number
      /** Each time it becomes true, not only the first. */
      readonly always: boolean
    }
  | { readonly is: 'silence'; readonly hours: number; readonly span: string }
  | { readonly is: 'news'; readonly keywords: readonly string[] }
  | { readonly is: 'zone'; readonly zone: string }
  /** When and how often the user wants messages. */
  | { readonly is: 'preferences'; readonly wish: PreferenceRequest }
  | { readonly is: 'missed' }
  | ({ readonly is: 'cancel' | 'pause' | 'resume' | 'outputs' } & Target)
  /** To a new time, or later by a duration. */
  | ({ readonly is: 'move'; readonly to: string } & Target)
  | ({ readonly is: 'postpone'; readonly by: string } & Target)
  /** Skip one time. The companion asks, because a schedule cannot leave out a single day. */
  | { readonly is: 'not_then'; readonly phrase: string | null; readonly name: string }
  | { readonly is: 'stop_all'; readonly only: 'alarm' | null }
  | { readonly is: 'planned'; readonly name: string; readonly phrase: string | null }
  | { readonly is: 'pick'; readonly number: number }
  | { [K in Plain]: { readonly is: K } }[Plain]
  | { readonly is: 'unclear'; readonly about: 'anything' }
  | {
      readonly is: 'unclear'
      readonly about: 'time' | 'zone' | 'two' | 'other'
      readonly errors: readonly string[]
    }
  /** A time without a task, or a task without a time: kept for the next sentence. */
  | { readonly is: 'unclear'; readonly about: 'what'; readonly parsed: Parsed }
  | { readonly is: 'unclear'; readonly about: 'when'; readonly what: string }

export interface Place {
  readonly timezone: string
  readonly now: Date
}

export const UNCLEAR: Meaning = { is: 'unclear', about: 'anything' }

export function unclear(about: 'time' | 'zone' | 'two' | 'other', ...errors: string[]): Meaning {
  return { is: 'unclear', about, errors }
}
