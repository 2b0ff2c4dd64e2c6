/**
 * One session told twice from the same rows: as a conversation, and as a corridor in which each event
 * leads to turns, verdicts and effects. Pure.
 */
import type { Effect, SessionEvent, Turn } from '../api/shapes.ts'
import { textIn } from '../api/shapes.ts'
import { originWords, REASON_NAMES, verdictWords } from './words.ts'

export interface Passage {
  readonly event: SessionEvent
  /** Before `next` events are done, after it they wait for it. */
  readonly stage: 'done' | 'next' | 'waiting'
  readonly attempts: readonly { readonly turn: Turn; readonly effects: readonly Effect[] }[]
}

export type Saying =
  | { readonly kind: 'user'; readonly id: string; readonly at: string; readonly text: string }
  | {
      readonly kind: 'agent'
      readonly id: string
      readonly at: string
      readonly text: string
      /** Null: an answer. Else its reason, and what it was born of. */
      readonly unasked: string | null
      readonly delivered: boolean
      /** It asks, and nobody has answered yet. */
      readonly question?: { readonly id: string; readonly options: readonly string[] }
    }
  | {
      /** Something that was not said: held back by the gate, or lost to an error. */
      readonly kind: 'unsaid'
      readonly id: string
      readonly at: string
      readonly text: string
      readonly failed: boolean
    }

export interface Rows {
  /** All events up to this one are done. */
  readonly doneSeq: number
  readonly events: readonly SessionEvent[]
  readonly turns: readonly Turn[]
  readonly effects: readonly Effect[]
}

/** In the order of events. Turns of events that are not among the rows are left out. */
export function passagesOf({ doneSeq, events, turns, effects }: Rows): Passage[] {
  const effectOf = new Map(effects.map((effect) => [effect.id, effect]))
  const turnsOf = new Map<number, Turn[]>()
  for (const turn of turns) {
    const known = turnsOf.get(turn.event_seq)
    if (known === undefined) turnsOf.set(turn.event_seq, [turn])
    else known.push(turn)
  }
  return events.map((event) => ({
    event,
    stage: stageOf(event.seq, doneSeq),
    attempts: (turnsOf.get(event.seq) ?? []).map((turn) => ({
      turn,
      effects: turn.effect_ids.flatMap((id) => effectOf.get(id) ?? []),
    })),
  }))
}

function stageOf(seq: number, doneSeq: number): Passage['stage'] {
  if (seq <= doneSeq) return 'done'
  return seq === doneSeq + 1 ? 'next' : 'waiting'
}

/** By time: an answer may come after the next message was already written. `stopped`: nothing runs now. */
export function conversationOf(passages: readonly Passage[], stopped = false): Saying[] {
  const known = new Set(passages.flatMap(({ event }) => questionIn(event.payload)?.id ?? []))
  const sayings = passages.flatMap((passage) => [...asked(passage), ...answered(passage, known)])
  sayings.sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
  return [...sayings, ...passages.flatMap((passage) => underWay(passage, stopped))]
}

function asked({ event }: Passage): Saying[] {
  if (event.type !== 'user_message') return []
  const { id, created_at: at } = event
  return [{ kind: 'user', id, at, text: textIn(event.payload, 'text') ?? '' }]
}

/** What a message asks, or an event answers. */
function questionIn(payload: unknown): { id: string; options: readonly string[] } | undefined {
  return (payload as { question?: { id: string; options: readonly string[] } } | null)?.question
}

/** `known`: questions that were answered. */
function answered({ event, attempts }: Passage, known: ReadonlySet<string>): Saying[] {
  return attempts.flatMap(({ turn, effects }) => {
    const said = effects
      .filter((effect) => effect.type === 'send_message')
      .map(({ id, created_at: at, payload, status, reason }): Saying => {
        const question = questionIn(payload)
        return {
          kind: 'agent',
          id,
          at,
          text: textIn(payload, 'content') ?? '',
          unasked:
            reason === 'answer'
              ? null
              : `${REASON_NAMES[reason].toLowerCase()}, ${originWords(event)}`,
          delivered: status === 'completed',
          ...(question === undefined || known.has(question.id) ? {} : { question }),
        }
      })
    return [...said, ...unsaid(turn)]
  })
}

/** What the agent does now, below everything said. */
function underWay({ event, stage, attempts }: Passage, stopped: boolean): Saying[] {
  if (stage !== 'next') return []
  const last = attempts.at(-1)?.turn
  const failed = last?.status === 'retrying'
  const text = failed
    ? `Attempt ${last.attempt} failed, trying again: ${last.error ?? 'no reason given'}`
    : stopped
      ? 'Stopped: this waits until it is resumed.'
      : 'The agent is working …'
  return [{ kind: 'unsaid', id: `${event.id}.next`, at: event.created_at, text, failed }]
}

function unsaid(turn: Turn): Saying[] {
  const at = turn.finished_at ?? turn.started_at
  const base = { kind: 'unsaid', at } as const
  const held = turn.verdicts
    .filter((verdict) => !verdict.allowed)
    .map((verdict, index): Saying => {
      const id = `${turn.event_seq}.${turn.attempt}.${index}`
      return { ...base, id, text: `A follow-up was ${verdictWords(verdict)}`, failed: false }
    })
  if (turn.status !== 'failed') return held
  const text = `The agent failed and gave up: ${turn.error ?? 'no reason given'}`
  return [...held, { ...base, id: `${turn.event_seq}.${turn.attempt}`, text, failed: true }]
}
