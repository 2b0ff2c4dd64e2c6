/** What is to come, whether the agent may speak, and what each event led to. */
import { useState } from 'react'
import type { SessionHead } from '../api/shapes.ts'
import { useNow } from '../parts/clock.ts'
import { Badge, Button, Panel, type Tone } from '../parts/parts.tsx'
import { PassageCard } from './passage-card.tsx'
import type { Passage } from './story.ts'
import { TimersPanel } from './timers-panel.tsx'
import { type GateWords, gateWords } from './words.ts'

/** Cards drawn at once; older ones on demand. */
const SHOWN = 30

interface Props {
  readonly head: SessionHead
  readonly passages: readonly Passage[]
  readonly complete: boolean
}

export function Corridor({ head, passages, complete }: Props) {
  const [shown, setShown] = useState(SHOWN)
  const newestFirst = passages.slice(-shown).reverse()
  return (
    <>
      <GatePanel head={head} />
      <TimersPanel sessionKey={head.session_key} timers={head.timers} />
      <Panel
        title="What happened"
        aside={
          <span className="text-xs text-muted">
            {head.done_seq} of {head.last_seq} {head.last_seq === 1 ? 'event' : 'events'} done
          </span>
        }
      >
        {!complete && (
          <p className="mb-2 text-sm text-muted">
            This session is very long: its newest turns are not shown.
          </p>
        )}
        <ol className="flex flex-col">
          {newestFirst.map((passage) => (
            <PassageCard key={passage.event.id} passage={passage} />
          ))}
        </ol>
        {passages.length > shown && (
          <Button className="mt-2 w-full" onClick={() => setShown(shown + SHOWN)}>
            Show older events
          </Button>
        )}
      </Panel>
    </>
  )
}

const GATE_TONES: Readonly<Record<GateWords['state'], Tone>> = {
  open: 'good',
  closed: 'bad',
  'cooling down': 'own',
}

function GatePanel({ head }: { head: SessionHead }) {
  const now = useNow()
  const { state, text } = gateWords(head.gate, head.consecutive_autonomous_msgs, now)
  return (
    <Panel title="Gate" aside={<Badge tone={GATE_TONES[state]}>{state}</Badge>}>
      <p className="text-sm text-muted">{text}</p>
    </Panel>
  )
}
