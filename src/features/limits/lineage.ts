/**
 * Where a trigger comes from: the message or call that it goes back to, how many fires lie between, and whether something from
 * outside had a part in it. Written by the server beside the trigger and into each event it becomes, never taken from a caller. Pure.
 */
import type { EventType } from '../../core/session.ts'

/** What a chain begins with: a person's message, a tool's result, a call under an agent's own key, or anybody else's call. */
export const ROOTS = ['message', 'tool_result', 'agent_key', 'call'] as const
export type RootKind = (typeof ROOTS)[number]

/** What comes from outside: facts of signals, by their kind, and mail. Its author need not be the person. */
export const ORIGINS = ['price', 'news', 'event', 'calendar', 'mail'] as const
export type Origin = (typeof ORIGINS)[number]

export interface Root {
  readonly kind: RootKind
  /** Of the event, or of the key; the role where there is no key. */
  readonly id: string
  /** To the second. */
  readonly at: Date
}

export interface Lineage {
  readonly root: Root
  /** Of the root itself 0, of what is set there 1, of what a fire of that sets 2. */
  readonly depth: number
  readonly origin: Origin | null
}

/** `2.sw5k3c.message.0190…` and, where there is one, `.news`: short, since each row of a trigger and its event carries it. */
export function lineageText({ root, depth, origin }: Lineage): string {
  const at = Math.floor(root.at.getTime() / 1000).toString(36)
  return `${depth}.${at}.${root.kind}.${root.id}${origin === null ? '' : `.${origin}`}`
}

/** Null where nothing is known: what was there before lineage was written. */
export function readLineage(text: string | null): Lineage | null {
  const [depth, at, kind, id, origin] = text?.split('.') ?? []
  if (depth === undefined || at === undefined || kind === undefined || id === undefined) return null
  return {
    root: { kind: kind as RootKind, id, at: new Date(Number.parseInt(at, 36) * 1000) },
    depth: Number(depth),
    origin: (origin as Origin | undefined) ?? null,
  }
}

/** Not what a person said or a tool has answered. The default of a question is one: nobody has said it. */
export function isFire(event: { readonly type: EventType; readonly triggerId: string | null }) {
  if (event.type === 'tool_result') return event.triggerId !== null
  return event.type !== 'user_message'
}

/** An event as far as its lineage goes. */
export interface Born {
  readonly type: EventType
  readonly id: string
  readonly at: Date
  /** As its row has it. */
  readonly lineage: string | null
}

/** Of an event: as its row says; else it is a root. One of a trigger without lineage is as if it had just been set. */
export function lineageOf({ type, id, at, lineage }: Born): Lineage {
  const known = readLineage(lineage)
  if (known !== null) return known
  const kind = type === 'user_message' ? 'message' : type === 'tool_result' ? 'tool_result' : 'call'
  const root = { kind, id, at } as const
  return { root, depth: kind === 'call' ? 1 : 0, origin: null }
}

/** Of what a turn over such an event sets. */
export function childOf({ root, depth, origin }: Lineage): Lineage {
  return { root, depth: depth + 1, origin }
}

/** Of an event that content from outside has led to: a message that came as mail, an intent that a fact has fired. */
export function fromOutside(lineage: Lineage, origin: Origin): Lineage {
  return { ...lineage, origin: lineage.origin ?? origin }
}

/** Of what a call sets. Agents call by keys of their own, also from within their turns: theirs are told apart. */
export function calledBy(
  caller: { readonly role: string; readonly keyId: string | null },
  at: Date,
): Lineage {
  const kind = caller.role === 'agent' ? 'agent_key' : 'call'
  return { root: { kind, id: caller.keyId ?? caller.role, at }, depth: 1, origin: null }
}

/**
 * Whether only an agent, or input from outside, asked for this fire. A schedule that a person or a program set does not count,
 * however often it fires: it was created once.
 */
export function isSelfMade({ root, depth, origin }: Lineage): boolean {
  return depth > 1 || root.kind === 'agent_key' || origin !== null
}
