/** What became of a slot, as a badge: the words for people, and whether it needs attention. */
import type { LedgerKind, Outcome } from '../api/ledger.ts'
import { Badge, type Tone } from './parts.tsx'

const LOOKS: Readonly<Record<Outcome, { readonly label: string; readonly tone: Tone }>> = {
  delivered: { label: 'delivered', tone: 'good' },
  sent: { label: 'sent, not read yet', tone: 'good' },
  silent: { label: 'nothing to say', tone: 'plain' },
  suppressed: { label: 'held back', tone: 'own' },
  deferred: { label: 'comes later', tone: 'own' },
  condition_false: { label: 'condition not met', tone: 'plain' },
  postponed: { label: 'put off', tone: 'own' },
  expired: { label: 'expired', tone: 'plain' },
  failed: { label: 'failed', tone: 'bad' },
  cancelled: { label: 'cancelled', tone: 'plain' },
  pending: { label: 'under way', tone: 'plain' },
  missed: { label: 'missed', tone: 'own' },
}

export function outcomeLabel(outcome: Outcome): string {
  return LOOKS[outcome]?.label ?? outcome.replaceAll('_', ' ')
}

export function outcomeTone(outcome: Outcome): Tone {
  return LOOKS[outcome]?.tone ?? 'plain'
}

export function OutcomeBadge({ outcome }: { outcome: Outcome }) {
  return <Badge tone={outcomeTone(outcome)}>{outcomeLabel(outcome)}</Badge>
}

export const KIND_NAMES: Readonly<Record<LedgerKind, string>> = {
  timer: 'Timers',
  alarm: 'Alarms',
  intent: 'Intents',
  work: 'Work',
  question: 'Questions',
}

const KIND_DOTS: Readonly<Record<LedgerKind, string>> = {
  question: 'bg-accent',
  timer: 'bg-timer',
  alarm: 'bg-alarm',
  intent: 'bg-intent',
  work: 'bg-work',
}

/** The lane's colour, beside its name: never the colour alone. */
export function KindDot({ kind }: { kind: LedgerKind }) {
  return (
    <span
      aria-hidden="true"
      className={`inline-block size-2 shrink-0 rounded-full ${KIND_DOTS[kind]}`}
    />
  )
}
