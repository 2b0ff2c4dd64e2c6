/**
 * A door as tools and the library see it: operations by flat arguments, answered with the JSON that HTTP would
 * answer with. One is made for each caller; what is not a refusal becomes one.
 */

import { writeJson } from '../../../packages/exact-json/src/index.ts'
import { Refusal } from '../../core/errors.ts'
import type { Tracer } from '../../core/trace/trace.ts'
import { withDefaultAgent } from '../../features/intents/default-agent.ts'
import type { Actor, Answer, Context, Operation, Role } from '../contract.ts'
import { perform } from '../perform.ts'
import { inSpan } from '../traced.ts'
import { type Arguments, type FlatInput, flatRefusal, prepareFlat } from './flat.ts'

export interface Door {
  /** The JSON of the answer's body, null where it has none. Whatever fails is thrown as a `Refusal`. */
  call(op: Operation, args: Arguments, signal?: AbortSignal): Promise<string | null>
  /** The present instant, for words such as "tomorrow". */
  now(): number
  /** Whose door it is, where that is known on this side. */
  readonly role: Role | null
  /** The key it was opened with, where one of ours was. */
  readonly keyId: string | null
}

export interface LocalDoor {
  readonly actor: Actor
  context(signal: AbortSignal | undefined): Context
  /** Runs an operation at most once for a key. */
  once(
    op: Operation,
    ctx: Context,
    input: FlatInput['input'],
    request: { key: string; method: string; path: string; body: unknown },
  ): Promise<Answer>
  now(): number
  readonly tracer: Tracer
  /** What the error table makes of anything thrown; logs what is ours. */
  refusal(error: unknown): Refusal
}

/** The door of one actor in this process. */
export function localDoor(options: LocalDoor): Door {
  return {
    role: options.actor.role,
    keyId: options.actor.keyId,
    now: () => options.now(),
    async call(op, args, signal) {
      try {
        return await run(options, op, args, signal)
      } catch (error) {
        const seen = flatRefusal(error)
        throw seen instanceof Refusal ? seen : options.refusal(seen)
      }
    },
  }
}

async function run(
  options: LocalDoor,
  op: Operation,
  args: Arguments,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const { actor } = options
  const context = options.context(signal)
  const whole = await withDefaultAgent(op.name, args, () =>
    actor.agentId === null ? context.kernel.agents.names : [actor.agentId],
  )
  const { input, key, raw } = prepareFlat(op, actor, whole)
  const { method } = op
  const answer = await inSpan(options.tracer, op, context, (ctx) =>
    key === undefined
      ? perform(op, ctx, input)
      : options.once(op, ctx, input, { key, method, path: pathOf(op, raw), body: raw.body }),
  )
  return answer.body === null || answer.body === undefined ? null : writeJson(answer.body)
}

/** `/v1/alarms/0195…`, as HTTP would be asked. */
export function pathOf(op: Operation, raw: { readonly params: unknown }): string {
  const params = raw.params as Record<string, unknown>
  return op.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(params[name] ?? '')),
  )
}
