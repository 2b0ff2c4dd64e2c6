/**
 * What an operation is, and how one is executed, whichever door it came through. Each operation is a
 * row of the table in `operations.ts`; HTTP, OpenAPI, MCP and the client are made from its schemas.
 */
import type { z } from 'zod'
import type { AlarmDraft } from '../core/alarm-draft.ts'
import { Refusal } from '../core/errors.ts'
import type { Policy } from '../core/turn.ts'
import type { SetAlarm } from '../store/alarms.ts'
import type { Db } from '../store/db.ts'
import type { Appended, NewEvent } from '../store/events.ts'
import { parsePart, wrapOpaque } from './shape.ts'

export { listQuery, page, pageOf } from './lists.ts'
export { idParam, opaqueJson } from './shape.ts'

export const ROLES = ['admin', 'service', 'agent', 'user', 'worker'] as const
export type Role = (typeof ROLES)[number]

/** Who asks. `ownerDid` and `userId` are null for admin and service acting for everybody. */
export interface Actor {
  readonly role: Role
  readonly ownerDid: string | null
  readonly userId: string | null
  readonly agentId: string | null
  readonly keyId: string | null
  readonly actAs: boolean
}

/** Runs public operations: the least role, and an owner that owns nothing. */
export const NOBODY: Actor = Object.freeze({
  role: 'worker',
  ownerDid: '',
  userId: '',
  agentId: null,
  keyId: null,
  actAs: false,
})

/** What operations may ask of the rest of the house, without knowing the engine. */
export interface House {
  /** Appends an event in a commit shared with others that are ready. */
  append(event: NewEvent): Promise<Appended>
  /** Is there such an agent, for this user if one is named? */
  knowsAgent(agentId: string, userId?: string): boolean
  /** The names of the agents that run here. */
  readonly agentIds: readonly string[]
  /** Alarms without an agent are delivered to a URL. */
  readonly wakesByUrl: boolean
  /** Sets an alarm in a commit shared with others that are ready, or within the given transaction. */
  setAlarm(draft: AlarmDraft, tx: Db | null): Promise<SetAlarm & { notes: readonly string[] }>
  /** Something changed that a service may want to look at now. */
  changed(topic: 'clock' | 'turns' | 'outbox', keys?: readonly string[]): void
  readonly policy: Policy
  readonly remoteAgents: RemoteAgents
  /** The bot, where one is set up. */
  readonly telegram: {
    /** Who chats talk to where no session is named; null: the only agent there is. */
    readonly agentId: string | null
    username(): Promise<string>
  } | null
}

/** What registering agents needs of the house. */
export interface RemoteAgents {
  /** The agents of this process. */
  readonly own: readonly {
    readonly id: string
    readonly kind: string
    readonly timeoutMs: number
  }[]
  /** Outgoing calls may reach private and loopback addresses. */
  readonly allowPrivate: boolean
  /** The table changed: this process looks at once, the others within a second. */
  changed(): Promise<void>
}

export interface Context {
  readonly db: Db
  readonly house: House
  readonly actor: Actor
  /** The instant a test clock dictates, or null: then the database's time of day counts. */
  readonly now: Date | null
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
  readonly requestId: string
  /** `db` is a transaction that commits only after `run` has answered: do not wait for others in it. */
  readonly inTransaction?: boolean
}

export interface Answer {
  /** Only where it differs from the operation's own. */
  readonly status?: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Schema = z.ZodObject | undefined
type Parsed<S extends Schema> = S extends z.ZodObject ? z.output<S> : undefined

export interface Input<P = unknown, Q = unknown, B = unknown> {
  readonly params: P
  readonly query: Q
  readonly body: B
}

/** A request as a door hands it in, before any check. */
export type RawInput = Input

interface Head {
  /** snake_case; also the MCP tool's name and OpenAPI's operationId. */
  readonly name: string
  readonly method: Method
  /** `/v1/alarms/{id}` */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** Top-level body fields kept as the text they were posted in, as `RawJson`. */
  readonly opaque?: readonly string[]
  /** Honours `Idempotency-Key`. */
  readonly creates?: boolean
  readonly roles: readonly Role[] | 'public'
  /** For OpenAPI; null where there is no body. */
  readonly output: z.ZodType | null
}

interface Definition<P extends Schema, Q extends Schema, B extends Schema> extends Head {
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** Of success; 200 if not said. */
  readonly status?: number
  run(ctx: Context, input: Input<Parsed<P>, Parsed<Q>, Parsed<B>>): Promise<Answer>
}

export interface Operation extends Head {
  readonly params: z.ZodObject | undefined
  readonly query: z.ZodObject | undefined
  readonly body: z.ZodObject | undefined
  readonly status: number
  /** Takes what `prepare` gave, nothing else. */
  run(ctx: Context, input: Input): Promise<Answer>
}

/** Types `run` by the schemas, and makes those strict: unknown fields are refused. */
export function operation<
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(definition: Definition<P, Q, B>): Operation {
  return {
    ...definition,
    params: definition.params?.strict(),
    query: definition.query?.strict(),
    body: definition.body?.strict(),
    status: definition.status ?? 200,
    // The one place where the schemas' types are forgotten; `prepare` has put them there.
    run: definition.run as Operation['run'],
  }
}

/** Who may, and is the shape right? Answers with the checked input, or refuses with all errors. */
export function prepare(op: Operation, actor: Actor, raw: RawInput): Input {
  if (op.roles !== 'public' && !op.roles.includes(actor.role)) {
    const allowed = op.roles.join(', ')
    throw new Refusal(
      'forbidden',
      `${op.name} is for ${allowed}; these credentials are ${actor.role}`,
    )
  }
  const errors: string[] = []
  const params = parsePart(op.params, 'path', raw.params, errors)
  const query = parsePart(op.query, 'query', raw.query, errors)
  const body = parsePart(op.body, 'body', wrapOpaque(op.opaque, raw.body), errors)
  if (errors.length > 0) throw new Refusal('shape', errors)
  return { params, query, body }
}

export async function execute(op: Operation, ctx: Context, raw: RawInput): Promise<Answer> {
  return op.run(ctx, prepare(op, ctx.actor, raw))
}
