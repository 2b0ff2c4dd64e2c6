/** A short tour on the first visit. It lies above the page, never over it, and stays away once it is closed. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../parts/parts.tsx'
import { randomId } from '../parts/random.ts'
import { sessionAddress } from '../session/key.ts'
import { STEPS, type Step } from './steps.ts'

const PLACE = 'wakeful.tour'
const CLOSED = 'closed'

/** The step that was reached; null once the tour was closed. */
function reached(): number | null {
  const kept = localStorage.getItem(PLACE)
  if (kept === CLOSED) return null
  const step = Number(kept ?? 0)
  return Number.isInteger(step) && step >= 0 && step < STEPS.length ? step : 0
}

export function Tour() {
  const [at, setAt] = useState(reached)
  const step = at === null ? undefined : STEPS[at]
  if (at === null || step === undefined) return null
  const go = (next: number) => {
    localStorage.setItem(PLACE, String(next))
    setAt(next)
  }
  const close = () => {
    localStorage.setItem(PLACE, CLOSED)
    setAt(null)
  }
  return <Card at={at} step={step} go={go} close={close} />
}

interface CardProps {
  readonly at: number
  readonly step: Step
  readonly go: (next: number) => void
  readonly close: () => void
}

function Card({ at, step, go, close }: CardProps) {
  const [, visit] = useLocation()
  const converse = useNewConversation()
  const heading = useRef<HTMLHeadingElement>(null)
  const first = useRef(at)
  // Another step is read out from its heading; the first one takes the focus from nobody.
  useEffect(() => {
    if (first.current !== at) heading.current?.focus()
    first.current = -1
  }, [at])
  const last = at === STEPS.length - 1
  const { label, address } = step.place
  return (
    <section
      aria-label="Tour"
      onKeyDown={(event) => {
        if (event.key === 'Escape') close()
      }}
      className="mb-5 rounded-xl border border-own-line bg-own-soft p-4"
    >
      <div className="flex items-start justify-between gap-3">
        <h2 ref={heading} tabIndex={-1} className="font-semibold text-own outline-none">
          <span className="font-normal">
            {at + 1} of {STEPS.length}:
          </span>{' '}
          {step.title}
        </h2>
        <button
          type="button"
          onClick={close}
          className="shrink-0 text-sm text-own underline underline-offset-4"
        >
          Close the tour
        </button>
      </div>
      <p className="mt-1 max-w-prose text-sm">{step.words}</p>
      {step.sentence !== undefined && (
        <p className="mt-2">
          <code className="inline-block rounded-lg bg-panel px-3 py-1.5 font-mono text-sm wrap-anywhere">
            {step.sentence}
          </code>
        </p>
      )}
      <div className="mt-3 flex flex-wrap gap-2">
        <Button main onClick={() => (address === undefined ? converse() : visit(address))}>
          {label}
        </Button>
        {at > 0 && <Button onClick={() => go(at - 1)}>Back</Button>}
        <Button onClick={last ? close : () => go(at + 1)}>{last ? 'Done' : 'Next'}</Button>
      </div>
    </section>
  )
}

/** Opens a session that nobody has spoken in; what it needs comes with its page. */
function useNewConversation(): () => Promise<void> {
  const client = useQueryClient()
  const [, visit] = useLocation()
  return async () => {
    const { beginEmpty } = await import('../session/use-session.ts')
    const key = `me:companion:${randomId(6)}`
    beginEmpty(client, key)
    visit(sessionAddress(key))
  }
}
