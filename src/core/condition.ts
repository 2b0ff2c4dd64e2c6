/**
 * Conditions: what an intent waits for, judged by what was seen. Pure, and data only: no code and no patterns
 * of a user's are run here.
 */
import type { IntentTrigger } from './intent.ts'
import { type SignalKind, tickerKey } from './signal.ts'
import { wordsOf } from './words.ts'

export interface Watch {
  readonly kind: SignalKind
  readonly key: string
}

/**
 * What can make this intent's condition true: the ticker, the first word of each keyword, or any calendar
 * entry. A signal finds the intents it may concern by these keys alone.
 */
export function watchesOf({
  trigger_type: kind,
  trigger_condition: condition,
}: Pick<IntentTrigger, 'trigger_type' | 'trigger_condition'>): Watch[] {
  switch (kind) {
    case 'price':
      return condition.ticker === undefined ? [] : [{ kind, key: tickerKey(condition.ticker) }]
    case 'news':
    case 'event': {
      const firsts = (condition.keywords ?? []).flatMap((keyword) => wordsOf(keyword).slice(0, 1))
      return [...new Set(firsts)].map((key) => ({ kind, key }))
    }
    case 'calendar':
      return [{ kind, key: '' }]
    default:
      return []
  }
}
