/**
 * The companion with a model, which answers and calls tools, a bounded number of times. Changes are actions of this
 * turn. If the model is unavailable, the sentence is parsed without it, and the answer has a note.
 */

import type { Turn } from '../../../src/agents/function.ts'
import { errorText } from '../../../src/core/errors.ts'
import { TEXT_MAX_BYTES } from '../../../src/core/session.ts'
import type { ChatMessage, ChatModel, ModelAnswer, ToolSpec } from '../../model/src/model.ts'
import { formatLocal } from '../../schedule/src/index.ts'
import { isIdle, placeOf } from './act.ts'
import type { Answer } from './plans.ts'
import { TURN_TOOLS, useTool } from './tools.ts'

export interface ModelMind {
  readonly model: ChatModel
  /** Wakeful's tools that a turn can carry out. */
  readonly tools: readonly ToolSpec[]
  /** Instructions for the model about the tools. */
  readonly instructions: string
}

/** Below the turn's time limit, which leaves time for the fallback. */
export const THINK_MAX_MS = 40_000
const ROUNDS_MAX = 5
const CALLS_MAX = 8
const REMEMBERED = 12
const REMEMBERED_MAX = 1000
const NOTE_MAX = 300

export type Thought =
  | { readonly answered: true; readonly answer: Answer }
  | { readonly answered: false; readonly note: string }

export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: { readonly properties?: Readonly<Record<string, object>> }
}

/** The tools that a turn can carry out, with the arguments it accepts. `speaking`: include tools that send a message themselves. */
export function turnTools(tools: readonly OfferedTool[], speaking?: 'speaking'): ToolSpec[] {
  return tools.flatMap(({ name, description, inputSchema }) => {
    const own = Object.hasOwn(TURN_TOOLS, name) ? TURN_TOOLS[name] : undefined
    if (own === undefined || (own.speaks && speaking === undefined)) return []
    const { properties: all = {} } = inputSchema
    const kept = own.takes.filter((each) => all[each] !== undefined)
    const properties = Object.fromEntries(kept.map((each) => [each, all[each]]))
    return [{ name, description, parameters: { type: 'object', properties } }]
  })
}

interface Said {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

export async function think(turn: Turn, text: string, mind: ModelMind): Promise<Thought> {
  const late = AbortSignal.timeout(THINK_MAX_MS)
  const signal = AbortSignal.any([turn.signal, late])
  const done: string[] = []
  try {
    const said = await converse(turn, text, mind, signal, done)
    remember(turn, [
      { role: 'user', content: text },
      { role: 'assistant', content: said },
    ])
    const checkIn = done.length === 0 && (await isIdle(turn))
    return { answered: true, answer: { text: said, checkIn } }
  } catch (error) {
    turn.signal.throwIfAborted()
    const why = late.aborted ? 'it took too long' : errorText(error, NOTE_MAX)
    // The actions so far stay: parsing the sentence again would do them twice.
    if (done.length > 0) {
      const words = `${done.join('\n')}\n(The model is away, so this is only what was done: ${why}.)`
      return { answered: true, answer: { text: words, checkIn: false } }
    }
    return { answered: false, note: `The model is away, so I took your words plainly: ${why}.` }
  }
}

async function converse(
  turn: Turn,
  text: string,
  { model, tools, instructions }: ModelMind,
  signal: AbortSignal,
  done: string[],
): Promise<string> {
  const messages: ChatMessage[] = [
    { role: 'system', content: systemText(turn, instructions) },
    ...talkOf(turn),
    { role: 'user', content: text },
  ]
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const last = round === ROUNDS_MAX
    const answer = await model.ask(messages, last ? { signal } : { signal, tools })
    const calls = last ? [] : (answer.calls ?? []).slice(0, CALLS_MAX)
    if (calls.length === 0) return bounded(answer, done)
    messages.push({ role: 'assistant', content: answer.text, calls })
    for (const call of calls) {
      const { said, changed } = await useTool(turn, call.name, call.arguments)
      if (changed) done.push(said)
      messages.push({ role: 'tool', callId: call.id, content: said })
    }
  }
  throw new Error('it did not come to an answer')
}

export function bounded({ text }: Pick<ModelAnswer, 'text'>, done: readonly string[]): string {
  const said = text.trim() === '' ? done.join('\n') : text
  if (said === '') throw new Error('it had nothing to say')
  // A character takes at most four bytes.
  return said.replaceAll(/\0|\p{Surrogate}/gu, '\uFFFD').slice(0, TEXT_MAX_BYTES / 4)
}

function systemText(turn: Turn, instructions: string): string {
  const { timezone, now } = placeOf(turn)
  return [
    'You are Companion, a friendly and brief assistant that keeps promises in time.',
    instructions,
    workText(turn.workTypes),
    'What you set is written when you have answered.',
    `It is ${formatLocal(now.getTime(), timezone)}; the user's time zone is ${timezone}.`,
    'Never claim that something is set unless a tool said so in this conversation.',
  ].join('\n')
}

const WORKERS: Readonly<Record<string, string>> = {
  reporting: 'tells what happened here',
  research: 'looks for facts on the web and in feeds, and reports with sources',
  content: 'writes a text such as an article, a post or a letter',
}

function workText(types: readonly string[]): string {
  if (types.length === 0) return 'Nobody does work here.'
  const each = types.map((type) =>
    WORKERS[type] === undefined ? type : `${type} (${WORKERS[type]})`,
  )
  return `agent_type of work is one of: ${each.join(', ')}. Choose by what is asked for. parameters of research and content may hold format ("md", "html" or "docx"), length, audience, tone and language.`
}

export function talkOf(turn: Turn): Said[] {
  return Array.isArray(turn.state.talk) ? (turn.state.talk as Said[]).slice(-REMEMBERED) : []
}

export function remember(turn: Turn, said: readonly Said[]): void {
  const short = (text: string) => [...text].slice(0, REMEMBERED_MAX).join('')
  const added = said.map(({ role, content }): Said => ({ role, content: short(content) }))
  turn.state.talk = [...talkOf(turn), ...added].slice(-REMEMBERED)
}
