/** The first screen of an empty install: one sentence, one picture, one button. */

import { Button, Heading } from '../parts/parts.tsx'
import { useStartTour } from '../tour/conversation.ts'

export function Welcome() {
  const start = useStartTour()
  return (
    <div className="mx-auto flex max-w-xl flex-col items-center gap-7 py-[8vh] text-center">
      <Heading title="Your agents can now speak first" />
      <p className="-mt-7 text-muted text-balance">
        Wakeful keeps durable reminders, follow-ups and watches for AI agents, and records why each
        message was sent or not.
      </p>
      <Loop />
      {start !== null && (
        <Button main className="min-h-10 px-5 text-sm" onClick={start}>
          Start the demo conversation
        </Button>
      )}
      <p className="text-[13px] text-muted">
        {start !== null && 'It takes 17 seconds and needs no model. '}Press <kbd>n</kbd> to set
        something for your own agents.
      </p>
    </div>
  )
}

const STEPS = [
  ['Set', 'a time or a condition'],
  ['Due', 'becomes an event'],
  ['Turn', 'the agent runs'],
  ['Message', 'sent, or why not'],
] as const
const STEP_PX = 130

function Loop() {
  return (
    <svg
      role="img"
      aria-label="The loop: something is set, it comes due, the agent runs a turn, a message is sent or held back with a reason; the agent may set the next one."
      viewBox="0 0 520 132"
      className="w-full max-w-lg"
    >
      {STEPS.map(([name, words], index) => (
        <g key={name} transform={`translate(${index * STEP_PX} 0)`}>
          <rect
            x="6"
            y="14"
            width="106"
            height="54"
            rx="9"
            className={index === 3 ? 'fill-own-soft stroke-own-line' : 'fill-panel stroke-line'}
          />
          <text x="59" y="37" textAnchor="middle" className="fill-ink text-[13px] font-semibold">
            {name}
          </text>
          <text x="59" y="54" textAnchor="middle" className="fill-muted text-[10px]">
            {words}
          </text>
          {index < STEPS.length - 1 && (
            <path d="M115 41h15m-5-4 5 4-5 4" className="fill-none stroke-edge stroke-[1.5]" />
          )}
        </g>
      ))}
      <path
        d="M449 72v22a12 12 0 0 1-12 12H71a12 12 0 0 1-12-12V76m-5 6 5-6 5 6"
        className="fill-none stroke-edge stroke-[1.5]"
        strokeDasharray="4 4"
      />
      <text x="254" y="124" textAnchor="middle" className="fill-muted text-[10px]">
        and the agent may set the next one
      </text>
    </svg>
  )
}
