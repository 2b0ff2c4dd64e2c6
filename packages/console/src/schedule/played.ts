/** What a forecast tells, as occurrences to be drawn. Pure. */
import type { Kind, LedgerKind } from '../api/ledger.ts'
import type { Occurrence } from './days.ts'
import { pageOf } from './schedule.ts'

export interface Forecast {
  readonly user_id: string
  readonly timezone: string
  readonly occurrences: readonly {
    readonly id: string
    readonly at: string
    readonly scheduled_for: string
    readonly trigger: {
      readonly kind: LedgerKind
      readonly id: string | null
      readonly name: string
    }
    readonly session_key?: string
    readonly outcome: string
    readonly words: string
    readonly text?: string
  }[]
  readonly totals: {
    readonly said: number
    readonly deferred: number
    readonly gathered: number
    readonly dropped: number
  }
  readonly cut: { readonly at: string; readonly why: string } | null
  readonly notes: readonly string[]
}

export function playedOf({ user_id, occurrences }: Forecast): Occurrence[] {
  return occurrences.flatMap((each) => {
    const { kind, id, name } = each.trigger
    if (kind === 'question') return []
    return [
      {
        key: `${user_id} ${each.id}`,
        trigger: id ?? `${kind} ${name}`,
        kind: kind as Kind,
        name,
        user: user_id,
        agent: each.session_key?.split(':')[1] ?? null,
        at: each.scheduled_for,
        outcome: each.outcome,
        words: each.text ?? each.words,
        href: id === null ? '/schedule' : pageOf(kind, id),
      },
    ]
  })
}
