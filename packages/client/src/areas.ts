/**
 * Names for the common calls: `client.alarms.set({ … })` is `client.call('set_alarm', { … })`. A name whose operation
 * the server's table does not have is not there.
 */
import type { AnswerOf, InputArgs, OperationName } from './call.ts'
import { ROUTES } from './routes.ts'
import type { RequestOptions } from './transport.ts'

const AREAS = {
  alarms: {
    set: 'set_alarm',
    list: 'list_alarms',
    get: 'get_alarm',
    update: 'update_alarm',
    pause: 'pause_alarm',
    resume: 'resume_alarm',
    retry: 'retry_alarm',
    cancel: 'cancel_alarm',
    fireNow: 'fire_alarm_now',
  },
  intents: {
    create: 'create_intent',
    list: 'list_intents',
    get: 'get_intent',
    update: 'update_intent',
    delete: 'delete_intent',
    history: 'list_intent_executions',
    pending: 'list_pending_intents',
    claims: 'claim_pending_intents',
    claim: 'claim_intent',
    fire: 'fire_intent',
  },
  signals: { post: 'post_signal' },
  work: {
    create: 'create_work',
    list: 'list_work',
    get: 'get_work',
    update: 'update_work',
    delete: 'delete_work',
    run: 'run_work',
    outputs: 'list_work_outputs',
    output: 'get_work_output',
  },
  sessions: {
    list: 'list_sessions',
    get: 'get_session',
    say: 'post_message',
    promise: 'promise',
    toolResult: 'post_tool_result',
    events: 'list_events',
    effects: 'list_effects',
    turns: 'list_turns',
  },
  questions: {
    list: 'list_questions',
    get: 'get_question',
    answer: 'answer_question',
    cancel: 'cancel_question',
  },
  people: {
    get: 'get_preferences',
    set: 'set_preferences',
    pause: 'pause',
    resume: 'end_pause',
    deferred: 'list_deferred',
    release: 'release_deferred',
  },
  stops: {
    stop: 'stop',
    list: 'list_stops',
    get: 'get_stop',
    resume: 'resume_stop',
    drop: 'drop_stop',
  },
  timers: { put: 'put_timer', list: 'list_timers', cancel: 'cancel_timer' },
  schedules: { preview: 'preview_schedule' },
  hooks: { put: 'put_hook', list: 'list_hooks', get: 'get_hook', delete: 'delete_hook' },
  ledger: { list: 'get_ledger' },
  keys: { create: 'create_key', list: 'list_keys', revoke: 'revoke_key' },
  agents: {
    register: 'register_agent',
    list: 'list_agents',
    get: 'get_agent',
    update: 'update_agent',
    delete: 'remove_agent',
  },
} as const

type Areas = typeof AREAS

export type Sugar = {
  readonly [A in keyof Areas]: {
    readonly [V in keyof Areas[A] as Areas[A][V] extends OperationName
      ? V
      : never]: Areas[A][V] extends OperationName ? Named<Areas[A][V]> : never
  }
}

type Named<N extends OperationName> = (
  ...args: [...InputArgs<N>, options?: CallOptions]
) => Promise<AnswerOf<N>>

export interface CallOptions extends RequestOptions {
  /** Made again for each call that creates, unless given; false sends none, and the call is not repeated. */
  readonly idempotencyKey?: string | false
}

type AnyCall = (name: OperationName, input: object, options?: CallOptions) => Promise<unknown>

export function areasOf(call: AnyCall): Sugar {
  const areas = Object.entries(AREAS).map(([area, verbs]) => {
    const known = Object.entries(verbs).filter(([, name]) => name in ROUTES)
    const calls = known.map(([verb, name]) => [
      verb,
      (input: object = {}, options?: CallOptions) => call(name as OperationName, input, options),
    ])
    return [area, Object.fromEntries(calls)]
  })
  return Object.fromEntries(areas) as Sugar
}
