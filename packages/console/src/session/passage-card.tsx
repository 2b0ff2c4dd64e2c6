/** One event and what it led to: attempts, verdicts, effects. */
import type { ReactNode } from 'react'
import { type Effect, textIn } from '../api/shapes.ts'
import { timeOf } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import type { Passage } from './story.ts'
import {
  deliveryWords,
  eventDetail,
  eventName,
  REASON_NAMES,
  turnWords,
  verdictWords,
} from './words.ts'

const NO_TURN: Readonly<Record<Passage['stage'], string>> = {
  done: 'Done; its turn is no longer kept',
  next: 'Its turn is about to start',
  waiting: 'Waiting for the event before it',
}

export function PassageCard({ passage: { event, stage, attempts } }: { passage: Passage }) {
  const detail = eventDetail(event)
  const own = event.type !== 'user_message'
  return (
    <div className="relative border-l-2 border-line pb-5 pl-4 text-[13px]">
      <span
        aria-hidden="true"
        className={`absolute top-1 -left-[7px] size-3 rounded-full border-2 border-panel ${own ? 'bg-own-mark' : 'bg-accent'}`}
      />
      <p className="flex items-baseline justify-between gap-2">
        <span className="font-semibold">{eventName(event.type)}</span>
        <span className="text-xs whitespace-nowrap text-muted">
          #{event.seq} · <When at={event.created_at} />
        </span>
      </p>
      {detail !== undefined && <p className="truncate text-muted">{detail}</p>}
      <ul className="mt-1 flex flex-col gap-1">
        {attempts.length === 0 && <Step sign="…">{NO_TURN[stage]}</Step>}
        {attempts.map(({ turn, effects }) => (
          <li key={turn.attempt}>
            <ul className="flex flex-col gap-1">
              <Step
                sign={turn.status === 'committed' ? '✓' : turn.status === 'running' ? '…' : '✕'}
                tone={turn.status === 'committed' || turn.status === 'running' ? '' : 'text-bad'}
              >
                {turnWords(turn)}
                {turn.error !== undefined && `: ${turn.error}`}
              </Step>
              {turn.verdicts.map((verdict, index) => (
                <Step
                  // biome-ignore lint/suspicious/noArrayIndexKey: verdicts of a turn never move
                  key={index}
                  sign={verdict.allowed ? '○' : '⊘'}
                  tone={verdict.allowed ? 'text-muted' : 'font-medium text-own'}
                >
                  {`Gate ${verdictWords(verdict)}`}
                </Step>
              ))}
              {effects.map((effect) => (
                <EffectStep key={effect.id} effect={effect} />
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </div>
  )
}

function EffectStep({ effect }: { effect: Effect }) {
  const { payload } = effect
  if (effect.type === 'schedule_timer') {
    const at = textIn(payload, 'fire_at')
    return (
      <Step sign="◷" tone="text-own">
        Timer “{textIn(payload, 'timer_id')}” {deliveryWords(effect)}
        {at !== undefined && ` for ${timeOf(at)}`}
      </Step>
    )
  }
  const waits = effect.status !== 'completed'
  return (
    <Step sign="→">
      {REASON_NAMES[effect.reason]}{' '}
      <span className={waits ? 'font-medium' : 'text-good'}>{deliveryWords(effect)}</span>
      <span className="block truncate text-muted">{textIn(payload, 'content') ?? effect.type}</span>
    </Step>
  )
}

function Step(props: { sign: string; tone?: string; children: ReactNode }) {
  return (
    <li className={`flex gap-2 ${props.tone ?? ''}`}>
      <span aria-hidden="true" className="w-4 shrink-0 text-center">
        {props.sign}
      </span>
      <span className="min-w-0 flex-1 wrap-anywhere">{props.children}</span>
    </li>
  )
}
