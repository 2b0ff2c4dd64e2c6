/** A short tour, begun from the first screen. It lies above the page, never over it. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useLayoutEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { request } from '../api/http.ts'
import { useFilters } from '../frame/address.ts'
import { Button } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { offerDraft } from '../session/draft.ts'
import { keyIn } from '../session/key.ts'
import { openConversation, reachedSession } from './conversation.ts'
import { reachStep, useReachedStep } from './reached.ts'
import { STEPS, type Step } from './steps.ts'

/** Below the card. */
const MARGIN_PX = 20

export function Tour() {
  const at = useReachedStep()
  const step = at === null ? undefined : STEPS[at]
  if (at === null || step === undefined) return null
  return <Card at={at} step={step} go={reachStep} close={() => reachStep(null)} />
}

interface CardProps {
  readonly at: number
  readonly step: Step
  readonly go: (next: number) => void
  readonly close: () => void
}

function Card({ at, step, go, close }: CardProps) {
  const [path] = useLocation()
  const card = useHeightTold()
  const heading = useRef<HTMLHeadingElement>(null)
  const first = useRef(at)
  // Another step is read out from its heading; the first one takes the focus from nobody.
  useEffect(() => {
    if (first.current !== at) heading.current?.focus()
    first.current = -1
  }, [at])
  const last = at === STEPS.length - 1
  const talking = keyAt(path) !== null
  return (
    <section
      ref={card}
      aria-label="Tour"
      onKeyDown={(event) => {
        if (event.key === 'Escape') close()
      }}
      className="mb-5 rounded-xl border border-own-line bg-own-soft p-4 max-sm:py-3"
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
          className="shrink-0 text-[13px] text-own underline underline-offset-4"
        >
          Close the tour
        </button>
      </div>
      <p className="mt-1 max-w-prose text-[13px] text-balance lg:max-w-4xl">{step.words}</p>
      <div className="mt-3 flex flex-wrap items-center gap-2">
        {step.sentence !== undefined && (
          // On a small screen it would take the room of the conversation it is written into.
          <code
            className={`rounded-lg bg-panel px-3 py-1.5 font-mono text-[13px] wrap-anywhere max-sm:w-full ${talking ? 'max-sm:hidden' : ''}`}
          >
            {step.sentence}
          </code>
        )}
        <StepActions key={at} step={step} />
        {at > 0 && <Button onClick={() => go(at - 1)}>Back</Button>}
        <Button onClick={last ? close : () => go(at + 1)}>{last ? 'Done' : 'Next'}</Button>
      </div>
    </section>
  )
}

/** What there is to do at a step: say its sentence, make it come true, go where it is seen. */
function StepActions({ step: { sentence, signal, place } }: { step: Step }) {
  const [path, visit] = useLocation()
  const converse = useConversation()
  const tell = useMutation({
    mutationFn: (body: object) => request('v1/signals', { method: 'POST', body }),
  })
  const talking = keyAt(path) !== null
  return (
    <>
      {sentence !== undefined && (
        <Button main={place === undefined} onClick={() => converse(sentence)}>
          {talking ? 'Write it' : reachedSession() === null ? 'Open a conversation' : 'Write it'}
        </Button>
      )}
      {signal !== undefined && talking && (
        <Button disabled={tell.isPending} onClick={() => tell.mutate(signal.fact)}>
          {signal.label}
        </Button>
      )}
      {tell.error !== null && <Trouble error={tell.error} />}
      {place !== undefined && path !== place.address && (
        <Button main onClick={() => visit(place.address)}>
          {place.label}
        </Button>
      )}
    </>
  )
}

/** The session that one can write in at an address. */
function keyAt(path: string): string | null {
  return path.startsWith('/sessions/') ? keyIn(path.slice('/sessions/'.length)) : null
}

/** Puts a sentence into the composer of the conversation in sight, or of the tour's own. */
function useConversation(): (sentence: string) => void {
  const client = useQueryClient()
  const [path] = useLocation()
  const isActing = useFilters().get('act') !== ''
  return (sentence) => {
    if (keyAt(path) !== null && isActing) offerDraft(sentence)
    else openConversation(client, sentence)
  }
}

/** A page that fills the window leaves this much to the tour. */
function useHeightTold() {
  const card = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const page = document.documentElement.style
    const tell = () => {
      const { height = 0 } = card.current?.getBoundingClientRect() ?? {}
      page.setProperty('--tour', `${Math.ceil(height) + MARGIN_PX}px`)
    }
    tell()
    const watching = new ResizeObserver(tell)
    if (card.current !== null) watching.observe(card.current)
    return () => {
      watching.disconnect()
      page.removeProperty('--tour')
    }
  }, [])
  return card
}
