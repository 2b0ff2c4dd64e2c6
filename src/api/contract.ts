/**
 * What an operation is, and how one is executed, whichever door it came through. Each operation is a
 * row of a table (`operations.ts`, or a pack's); HTTP, OpenAPI, MCP and the client are made from its schemas.
 */
import type { z } from 'zod'
import { type ErrorCode, Refusal } from '../core/errors.ts'
import type { AuditHead } from '../features/identity/audit.ts'
import type { Role } from '../features/identity/key.ts'
import type { Topic } from '../kernel/hints.ts'
import type { Kernel } from '../kernel.ts'
import type { Db } from '../store/db.ts'
import type { Place } from './lists.ts'
import { lacksOwner, type OwnerSource } from './owner.ts'
import { perform } from './perform.ts'
import { parsePart, wrapOpaque } from './shape.ts'

export { opaqueJson } from '../core/fields.ts'
export { ROLES, type Role } from '../features/identity/key.ts'
export { flag, listQuery, newestOf, newestPage, page, pageFrom, pageOf } from './lists.ts'
export { idParam } from './shape.ts'
export { mergedPages } from './shards.ts'

/** Who asks. `ownerDid` and `userId` are null for admin and service acting for everybody. */
export interface Actor {
  readonly role: Role
  readonly ownerDid: string | null
  readonly userId: string | null
  readonly agentId: string | null
  readonly keyId: string | null
  readonly actAs: boolean
  /** When credentials that no key of ours stands behind end: a token of the identity provider. */
  readonly endsAt?: string
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

/** Runs `work` when the transaction of this request has committed; at once outside a transaction. */
export function afterCommit(ctx: Context, work: () => void): void {
  if (ctx.pending === undefined) work()
  else ctx.pending.push(work)
}

/** Tells the services that there may be work for them, once it can be seen. */
export function notify(ctx: Context, topic: Topic, keys?: readonly string[]): void {
  afterCommit(ctx, () => ctx.kernel.changed(topic, keys))
}

/** An idle clock can sleep past what is due sooner than this. */
const SOON_MS = 5_000

export function wakeClockIfSoon(ctx: Context, due: Date, now: Date): void {
  if (due.getTime() - now.getTime() < SOON_MS) notify(ctx, 'clock')
}

export interface Context {
  /** Sees the rows of the actor's owner alone, where the actor has one: row-level security stands beneath it. */
  readonly db: Db
  /** Sees everything; for operations on what belongs to no owner. Left out where `db` does, too. */
  readonly whole?: Db | undefined
  /** Of the shard this runs on. */
  readonly kernel: Kernel
  readonly actor: Actor
  /** The person this call is about, as its operation declares; null: everybody, or known by the row alone. */
  readonly owner?: string | null | undefined
  /** The instant a test clock dictates, or null: then the database's time of day counts. */
  readonly now: Date | null
  /** Aborted when nobody waits for the answer any more. Made when asked for: few ask, and it costs 4 µs. */
  readonly signal: () => AbortSignal
  readonly requestId: string
  /** The trace this runs in, to be kept in what it sets; null or left out without one. */
  readonly traceparent?: string | null | undefined
  /** `db` is a transaction that commits only after `run` has answered: do not wait for others in it. */
  readonly inTransaction?: boolean | undefined
  /** What to do after the commit of that transaction; use `afterCommit`. */
  readonly pending?: (() => void)[] | undefined
  /** Where there are several shards, before it is known which of them is meant; see `shards.ts`. */
  readonly shards?: ContextShards | undefined
  /** Given to operations with `audit: 'own'` outside of a transaction: to be written with what they change. */
  readonly entry?: AuditHead | undefined
}

/** The shards as operations see them. */
export interface ContextShards {
  readonly count: number
  /** The number of the one that holds this person's rows; refuses while they are on their way. */
  ofUser(userId: string): number
  /** The same context in that shard; refuses while it is away since the start. */
  within(ctx: Context, number: number): Context
}

/**
 * How an operation that nobody in particular is named in is answered by several shards. Each answers `ask`; by default an
 * operation on one thing is answered by the shard that knows it, and all else by the first.
 */
export type Across = (
  shards: number,
  ask: (number: number, input?: Input) => Promise<Answer>,
  input: Input,
) => Promise<Answer>

export interface Answer {
  /** Of a page: where each of its rows stands, so that pages of several shards can be made one. */
  readonly places?: readonly Place[]
  /** A fuller answer that the caller of a transaction waits for after its commit. */
  readonly later?: () => Promise<Answer>
  /** Only where it differs from the operation's own. */
  readonly status?: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** For the audit log: the object if the path does not name it, and its owner if the request does not. */
  readonly about?: { readonly id?: string; readonly owner?: string | null }
  /** What a repeated request with the same key is answered, where the first answer holds a secret. */
  readonly again?: unknown
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
  /** Where the person it is about is named. */
  readonly owner: OwnerSource
  /** Credentials that stand for no one person must name one. */
  readonly ownerRequired?: boolean
  readonly roles: readonly Role[] | 'public'
  /**
   * How a change is audited. Default: everything but a GET runs in one transaction that ends with its audit
   * entry. `own`: the operation opens no such transaction and writes `ctx.entry` with its change. `none`: it changes nothing.
   */
  readonly audit?: 'own' | 'none'
  readonly across?: Across
  /** For OpenAPI: the same request again answers 200 with what is there. */
  readonly repeats?: true
  /** For OpenAPI: refusals that its shape does not tell of. */
  readonly refuses?: readonly ErrorCode[]
  /** For OpenAPI; null where there is no body. */
  readonly output: z.ZodType | null
}

type Shown = z.ZodType | null

interface Definition<
  N extends string,
  P extends Schema,
  Q extends Schema,
  B extends Schema,
  O extends Shown,
> extends Head {
  readonly name: N
  readonly output: O
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

/** An operation whose name and schemas the compiler still knows: the client's types are made of these. */
export interface Typed<N extends string, P, Q, B, O extends Shown> extends Operation {
  readonly name: N
  readonly output: O
  /** For the compiler alone. */
  readonly takes?: { readonly params: P; readonly query: Q; readonly body: B }
}

/** Types `run` by the schemas, and makes those strict: unknown fields are refused. */
export function operation<
  const N extends string,
  O extends Shown,
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(definition: Definition<N, P, Q, B, O>): Typed<N, P, Q, B, O> {
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
  if (lacksOwner(op, actor, raw)) errors.push(`${op.owner}.user_id: is required`)
  if (errors.length > 0) throw new Refusal('shape', errors)
  return { params, query, body }
}

export async function execute(op: Operation, ctx: Context, raw: RawInput): Promise<Answer> {
  return perform(op, ctx, prepare(op, ctx.actor, raw))
}
