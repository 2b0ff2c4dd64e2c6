/** Kinds, outcomes and states: an icon and words for each, and colour for what needs attention. */
import type { LedgerKind, Outcome } from '../api/ledger.ts'
import { Icon } from './icon.tsx'
import type { IconName } from './icon-paths.ts'
import type { Tone } from './tone.ts'

interface Look {
  readonly label: string
  readonly icon: IconName
  readonly tone: Tone
}

const LOOKS: Readonly<Record<Outcome, Look>> = {
  delivered: { label: 'delivered', icon: 'check', tone: 'good' },
  sent: { label: 'sent, not read yet', icon: 'sent', tone: 'plain' },
  silent: { label: 'nothing to say', icon: 'dash', tone: 'plain' },
  suppressed: { label: 'held back', icon: 'hand', tone: 'own' },
  deferred: { label: 'comes later', icon: 'later', tone: 'own' },
  condition_false: { label: 'condition not met', icon: 'dash', tone: 'plain' },
  postponed: { label: 'put off', icon: 'later', tone: 'own' },
  expired: { label: 'expired', icon: 'dash', tone: 'plain' },
  failed: { label: 'failed', icon: 'warning', tone: 'bad' },
  cancelled: { label: 'cancelled', icon: 'cross', tone: 'plain' },
  pending: { label: 'in progress', icon: 'dots', tone: 'plain' },
  missed: { label: 'missed', icon: 'warning', tone: 'own' },
}

export function outcomeLabel(outcome: string): string {
  return LOOKS[outcome as Outcome]?.label ?? outcome.replaceAll('_', ' ')
}

const INKS: Readonly<Record<Tone, string>> = {
  plain: 'text-muted',
  good: 'text-good',
  own: 'text-own',
  bad: 'text-bad font-medium',
}

/** An icon and words, in one line of a table. */
export function State({ icon, tone, children }: { icon: IconName; tone: Tone; children: string }) {
  return (
    <span className={`inline-flex max-w-full items-center gap-1.5 align-middle ${INKS[tone]}`}>
      <Icon name={icon} className="size-3.5!" />
      <span className="truncate">{children}</span>
    </span>
  )
}

/** What became of something, also by words that the console does not know. */
export function OutcomeState({ outcome }: { outcome: string }) {
  const { icon, tone } = LOOKS[outcome as Outcome] ?? lookOf(outcome)
  return (
    <State icon={icon} tone={tone}>
      {outcomeLabel(outcome)}
    </State>
  )
}

function lookOf(outcome: string): Pick<Look, 'icon' | 'tone'> {
  if (/fail/.test(outcome)) return LOOKS.failed
  return /^(fired|completed|success|done)$/.test(outcome) ? LOOKS.delivered : LOOKS.silent
}

export const KIND_NAMES: Readonly<Record<LedgerKind, string>> = {
  timer: 'Timer',
  alarm: 'Alarm',
  intent: 'Intent',
  work: 'Work',
  question: 'Question',
}

/** What a schedule of this kind is, beside its icon or instead of it. */
export function Kind({ kind, named = false }: { kind: LedgerKind; named?: boolean }) {
  return (
    <span
      className="inline-flex items-center gap-1.5 align-middle text-muted"
      title={KIND_NAMES[kind]}
    >
      <Icon name={kind} />
      <span className={named ? '' : 'sr-only'}>{KIND_NAMES[kind]}</span>
    </span>
  )
}
