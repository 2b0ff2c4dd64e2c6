/** The few numbers that say whether all is well. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Overview } from '../api/overview.ts'
import { fromNow, lasting } from '../parts/time.ts'

/** Beyond this a reader would notice. */
const SLOW_MS = 1_000

interface Props {
  readonly figures: Overview['figures']
  readonly turnsPerMinute: number | null
  readonly failed: number
  readonly heldBack: number
  readonly now: number
}

export function Figures({ figures, turnsPerMinute, failed, heldBack, now }: Props) {
  const { due_lag_ms: lag, undelivered, oldest_undelivered_at: oldest } = figures
  return (
    <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Figure
        name="Due lag"
        value={lasting(lag)}
        note={lag < SLOW_MS ? 'on time' : 'something due has not been taken yet'}
        tone={lag < SLOW_MS ? 'plain' : 'bad'}
      />
      <Figure
        name="Turns per minute"
        value={turnsPerMinute === null ? '…' : turnsPerMinute.toFixed(turnsPerMinute < 10 ? 1 : 0)}
        note={
          figures.sessions_waiting === 0
            ? 'no session waits'
            : figures.sessions_waiting === 1
              ? '1 session waits'
              : `${figures.sessions_waiting.toLocaleString()} sessions wait`
        }
      />
      <Figure
        name="Undelivered"
        value={undelivered.toLocaleString()}
        note={
          oldest === null
            ? 'every message was taken'
            : `oldest ${fromNow(oldest, now).replace(/^now$/, 'just now')}`
        }
        tone={undelivered > 0 ? 'own' : 'plain'}
      />
      <Figure
        name="Failed or held back"
        value={
          <>
            {failed}
            <span className="text-muted"> / </span>
            {heldBack}
          </>
        }
        note={
          failed + heldBack === 0 ? (
            'nothing in this window'
          ) : (
            <Link href={failed > 0 ? '/why/failed' : '/why/suppressed'} className="underline">
              see why
            </Link>
          )
        }
        tone={failed > 0 ? 'bad' : heldBack > 0 ? 'own' : 'plain'}
      />
    </dl>
  )
}

const TONES = {
  plain: 'border-line bg-panel',
  own: 'border-own-line bg-own-soft',
  bad: 'border-bad bg-bad-soft',
} as const

function Figure(props: {
  name: string
  value: ReactNode
  note: ReactNode
  tone?: keyof typeof TONES
}) {
  const { name, value, note, tone = 'plain' } = props
  return (
    <div className={`flex flex-col rounded-xl border px-4 py-3 ${TONES[tone]}`}>
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="text-2xl font-semibold tracking-tight tabular-nums">{value}</dd>
      <dd className="text-xs text-muted">{note}</dd>
    </div>
  )
}
