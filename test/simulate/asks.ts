/** What the people of a simulation ask for, and what they were told. */
import { Refusal } from '../../src/core/errors.ts'
import { anyCall } from '../setup/worlds.ts'
import type { Ask } from './plan.ts'
import type { Process } from './process.ts'
import type { Snapshot } from './snapshot.ts'
import type { Request, Witness } from './witness.ts'

interface Open extends Request {
  at: Process | null
}

export class Asks {
  readonly #witness: Witness
  readonly #open: Open[] = []
  /** Alarms and works that people were told of. */
  readonly #alarms: { id: string; user: string; every: boolean }[] = []
  readonly #works: { id: string; user: string }[] = []
  /** Cancelled, and the tables were not looked at since. */
  #fresh: string[] = []

  constructor(witness: Witness) {
    this.#witness = witness
  }

  ask(at: Process, user: string, ask: Ask): void {
    const asked = this.#request(user, ask)
    if (asked === null) return
    const [name, args] = asked
    const request: Open = { name, args, user, state: 'open', answer: null, at }
    this.#witness.requests.push(request)
    this.#open.push(request)
    this.#send(request, at)
  }

  /** A request that names itself is made again when its answer stays away. */
  again(at: Process, pick: number): void {
    const lost = this.#open.filter(({ state }) => state === 'unanswered')
    const request = lost[pick % Math.max(1, lost.length)]
    if (request !== undefined) this.#send(request, at)
  }

  /** Whoever waited for that process waits no more. */
  died(process: Process): void {
    for (const request of this.#open)
      if (request.state === 'open' && request.at === process) this.#unanswered(request)
  }

  endRecurring(at: Process): void {
    for (const { id, user, every } of this.#alarms)
      if (every) this.#tell(at, user, 'cancel_alarm', { id })
    for (const { id, user } of this.#works)
      this.#tell(at, user, 'update_work', { id, is_active: false })
  }

  /** Of alarms whose cancelling was acknowledged: how many events there are from now on. */
  look({ events }: Snapshot): void {
    for (const id of this.#fresh)
      this.#witness.cancelled.set(id, events.filter((event) => event.trigger_id === id).length)
    this.#fresh = []
  }

  #tell(at: Process, user: string, name: string, args: object): void {
    anyCall(at)(name, args, { actAs: user }).catch(() => undefined)
  }

  #request(user: string, ask: Ask): [name: string, args: object] | null {
    const session_key = `${user}:bot:chat`
    switch (ask.what) {
      case 'say':
        return ['post_message', { session_key, text: `m${ask.nth}`, id: `m${ask.nth}` }]
      case 'tool':
        return ['post_tool_result', { session_key, tool_id: 'tool', payload: { nth: ask.nth } }]
      case 'timer':
        return ['put_timer', { session_key, timer_id: `t${ask.nth}`, delay_seconds: ask.seconds }]
      case 'alarm':
        return ['set_alarm', alarmOf(ask)]
      case 'cancel': {
        const own = this.#alarms.filter((alarm) => alarm.user === user)
        const alarm = own[ask.pick % Math.max(1, own.length)]
        return alarm === undefined ? null : ['cancel_alarm', { id: alarm.id }]
      }
      case 'intent':
        return ['create_intent', intentOf(user, ask.nth)]
      case 'price':
        return ['post_signal', { kind: 'price', ticker: 'NVDA', price: 100 + (ask.nth % 5) * 20 }]
      case 'work':
        return ['create_work', workOf(user, ask.nth, ask.seconds)]
      case 'pause':
        return ['pause', { user_id: user, for: ask.nth % 2 === 0 ? '1 minute' : '20 minutes' }]
      case 'resume':
        return ['end_pause', { user_id: user }]
    }
  }

  #send(request: Open, at: Process): void {
    request.at = at
    request.state = 'open'
    anyCall(at)(request.name, request.args, { actAs: request.user }).then(
      (answer) => this.#answered(request, answer as Record<string, never>),
      (error: unknown) => {
        if (error instanceof Refusal && error.code !== 'unavailable') this.#over(request, 'refused')
        else this.#unanswered(request)
      },
    )
  }

  #answered(request: Open, answer: Record<string, Record<string, never>>): void {
    this.#over(request, 'acknowledged')
    request.answer = answer
    const { name, user } = request
    if (name === 'post_message' || name === 'post_tool_result') {
      const { id, session_key: key, seq } = answer.event as never as Record<string, string>
      this.#witness.said.push({ key: String(key), id: String(id), seq: Number(seq) })
    } else if (name === 'set_alarm')
      this.#alarms.push({ id: String(answer.id), user, every: String(answer.kind) === 'cron' })
    else if (name === 'create_work') this.#works.push({ id: String(answer.work?.id), user })
    else if (name === 'cancel_alarm' && String(answer.status) === 'cancelled')
      this.#fresh.push(String(answer.id))
  }

  #over(request: Open, state: Request['state']): void {
    request.state = state
    this.#open.splice(this.#open.indexOf(request), 1)
  }

  /** What names itself may be asked for again; of the rest nobody knows whether it happened. */
  #unanswered(request: Open): void {
    if (['post_message', 'set_alarm', 'cancel_alarm'].includes(request.name))
      request.state = 'unanswered'
    else this.#over(request, 'unanswered')
  }
}

function alarmOf(ask: Ask & { what: 'alarm' }): object {
  return {
    ...(ask.every
      ? { kind: 'cron', cron_expr: `@every ${Math.max(20, ask.seconds)}s` }
      : { kind: 'once', delay_seconds: ask.seconds }),
    ...(ask.byCall ? {} : { agent_id: 'bot', conversation_id: 'chat' }),
    ...{ wake_message: 'wake', max_failures: ask.tries, idempotency_key: `a${ask.nth}` },
  }
}

function intentOf(user: string, nth: number): object {
  return {
    user_id: user,
    intent_name: `cheap ${nth}`,
    trigger_type: 'price',
    trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
    action_context: 'say so',
    agent_id: 'bot',
    thread_id: 'chat',
  }
}

function workOf(user: string, nth: number, seconds: number): object {
  return {
    task: `task ${nth}`,
    agent_type: 'scribe',
    user_id: user,
    frequency: nth % 2 === 0 ? 'once' : `every ${Math.max(60, Math.ceil(seconds))} seconds`,
    parameters: { notify_session: `${user}:bot:chat` },
  }
}
