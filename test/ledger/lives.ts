/** Random lives of users: each sets a few triggers and then speaks, cancels, goes away. */
import { type House, START } from './house.ts'

const MINUTE = 60_000

export interface Trigger {
  readonly kind: 'timer' | 'alarm' | 'intent' | 'work'
  /** The timer's name, else the id. */
  readonly id: string
  readonly user: string
  readonly by: 'event' | 'call'
  /** Where it recurs: its step, and the instant its grid begins. */
  readonly everyMs: number | null
  readonly anchor: number
  readonly attemptsMax: number
  cancelledAt: number | null
  firedNow: boolean
  /** With all that was kept of it. */
  deleted: boolean
  /** Looked at again and again, also twice at one instant of a clock that stands still. */
  readonly watches: boolean
}

export interface Life {
  readonly triggers: readonly Trigger[]
  act(minute: number, minutes: number): Promise<void>
  /** What is asked for at once, at an instant that is no slot of anything. */
  ask(minute: number, minutes: number): Promise<void>
  end(): Promise<void>
}

type Dice = () => number
type Action = () => Promise<void>

export function live(house: House, user: string, dice: Dice): Life {
  const triggers: Trigger[] = []
  const actions = new Map<number, Action[]>()
  const asks = new Map<number, Action[]>()
  const put = (map: typeof actions) => (minute: number, action: Action) => {
    map.set(minute, [...(map.get(minute) ?? []), action])
  }
  const at = put(actions)
  const pick = (below: number) => Math.floor(dice() * below)
  // Some have no connection: what is said to them waits.
  if (dice() < 0.15) house.recorder.offline.add(user)
  const made = (trigger: Partial<Trigger> & Pick<Trigger, 'kind' | 'id'>): Trigger => {
    const rest = { user, by: 'event', everyMs: null, anchor: house.now(), attemptsMax: 1 } as const
    const whole = {
      ...rest,
      cancelledAt: null,
      firedNow: false,
      deleted: false,
      watches: false,
      ...trigger,
    }
    triggers.push(whole)
    return whole
  }
  const context = { house, user, nth: 0, pick, dice, made, at, asked: put(asks) }
  const kinds = [setTimers, setAlarm, setAlarm, setIntent, setWork]
  for (let nth = 1 + pick(2); nth > 0; nth--) kinds[pick(kinds.length)]?.({ ...context, nth })
  for (let n = pick(3); n > 0; n--) at(5 + pick(120), () => speak(context, triggers))
  return {
    triggers,
    act: (minute, minutes) => carryOut(actions, minute, minutes),
    ask: (minute, minutes) => carryOut(asks, minute, minutes),
    async end() {
      for (const trigger of triggers) await cancel(house, trigger)
    },
  }
}

async function carryOut(planned: Map<number, Action[]>, from: number, minutes: number) {
  for (let minute = from; minute < from + minutes; minute++)
    for (const action of planned.get(minute) ?? []) await action()
}

interface Context {
  readonly house: House
  readonly user: string
  /** Which of the user's triggers is set. */
  readonly nth: number
  readonly pick: (below: number) => number
  readonly dice: Dice
  readonly made: (trigger: Partial<Trigger> & Pick<Trigger, 'kind' | 'id'>) => Trigger
  readonly at: (minute: number, action: Action) => void
  readonly asked: (minute: number, action: Action) => void
}

/** Ends what timers of the conversation have not begun. */
async function speak({ house, user }: Context, triggers: readonly Trigger[]): Promise<void> {
  await house.call('post_message', { session_key: `${user}:bot:chat`, text: 'hello' })
  for (const trigger of triggers) if (trigger.kind === 'timer') trigger.cancelledAt ??= house.now()
}

/** A few at the same instant, so that the cap and the cooldown have something to do. */
function setTimers({ house, user, pick, made, at }: Context): void {
  const count = 1 + pick(6)
  at(pick(60), async () => {
    for (let n = 0; n < count; n++) {
      const timer_id = `timer-${user}-${house.now()}-${n}`
      const fire_at = new Date(house.now() + (1 + pick(3)) * 10 * MINUTE).toISOString()
      await house.call('put_timer', { session_key: `${user}:bot:chat`, timer_id, fire_at })
      made({ kind: 'timer', id: timer_id, attemptsMax: 4 })
    }
  })
}

function setAlarm({ house, user, pick, dice, made, at, asked: ask }: Context): void {
  const recurring = dice() < 0.5
  const byCall = dice() < 0.3
  const everyMs = 10 * (1 + pick(3)) * MINUTE
  const attemptsMax = 1 + pick(3)
  const begins = pick(60)
  let trigger: Trigger | null = null
  at(begins, async () => {
    const asked = {
      ...(recurring
        ? { kind: 'cron', cron_expr: `@every ${everyMs / MINUTE}m` }
        : { kind: 'once', delay_seconds: everyMs / 1000 }),
      ...(byCall ? {} : { agent_id: 'bot' }),
      ...(dice() < 0.5 ? { conversation_id: 'chat' } : {}),
      ...{ wake_message: 'wake up', max_failures: attemptsMax },
    }
    const alarm = await house.call('set_alarm', asked, { actAs: user })
    const by = byCall ? 'call' : 'event'
    const id = String(alarm.id)
    trigger = made({ kind: 'alarm', id, by, attemptsMax, everyMs: recurring ? everyMs : null })
  })
  if (dice() < 0.4)
    at(begins + 1 + pick(60), async () => {
      if (trigger !== null) await cancel(house, trigger)
    })
  if (dice() < 0.4)
    ask(begins + 1 + pick(60), async () => {
      if (trigger === null) return
      await house.call('fire_alarm_now', { id: trigger.id }).then(
        () => {
          if (trigger !== null) trigger.firedNow = true
        },
        (error: Error) => {
          if (!/this alarm is/.test(error.message)) throw error
        },
      )
      // Before anything ran it.
      if (trigger !== null && dice() < 0.3) await cancel(house, trigger)
    })
}

function setIntent(context: Context): void {
  const { house, user, nth, pick, dice, made, at } = context
  const begins = pick(60)
  const type = ['interval', 'cron', 'once', 'price'][pick(4)] ?? 'interval'
  const minutes = 10 * (1 + pick(3))
  // One for each intent: what is told for the sake of one must not make another fire.
  const ticker = `T${user.toUpperCase()}N${nth}`
  let trigger: Trigger | null = null
  at(begins, async () => {
    const when = {
      interval: { trigger_schedule: { interval_minutes: minutes } },
      cron: { trigger_schedule: { cron: '*/20 * * * *' } },
      once: {
        trigger_schedule: { datetime: new Date(house.now() + minutes * MINUTE).toISOString() },
      },
      price: { trigger_condition: { ticker, operator: '<', value: 100 } },
    }[type]
    const expires = new Date(house.now() + 10 * (3 + pick(6)) * MINUTE + 3_000).toISOString()
    const intent = await house.call('create_intent', {
      ...{ user_id: user, agent_id: 'bot', intent_name: 'watch', action_context: 'tell' },
      ...{ trigger_type: type, ...when },
      ...(dice() < 0.4 ? { expires_at: expires } : {}),
      ...(dice() < 0.6 ? { thread_id: 'chat' } : {}),
    })
    trigger = made({
      ...{ kind: 'intent', id: String(intent.id), watches: type === 'price' },
      ...(type === 'interval' ? { everyMs: minutes * MINUTE } : {}),
      ...(type === 'cron' ? { everyMs: 20 * MINUTE, anchor: gridBefore(house.now(), 20) } : {}),
    })
  })
  if (type === 'price')
    for (let n = 0; n < 4; n++)
      at(begins + 1 + n * 9, async () => {
        // After a downtime its own look may have fired at this very instant; a clock that stands still cannot tell two fires apart.
        const slot = `${trigger?.id} ${new Date(house.now()).toISOString()}`
        if (house.recorder.runs.has(slot)) return
        const price = n % 2 === 0 ? 120 : 80
        await house.call('post_signal', { kind: 'price', ticker, price, user_id: user })
      })
  if (dice() < 0.3)
    at(begins + 1 + pick(60), async () => {
      if (trigger !== null) await cancel(house, trigger)
    })
}

/** The last instant of an hourly grid at or before now. */
function gridBefore(now: number, minutes: number): number {
  return START + Math.floor((now - START) / (minutes * MINUTE)) * minutes * MINUTE
}

function setWork({ house, user, pick, dice, made, at, asked }: Context): void {
  const begins = pick(60)
  const minutes = 10 * (1 + pick(3))
  const recurring = dice() < 0.6
  let trigger: Trigger | null = null
  at(begins, async () => {
    const answer = (await house.call('create_work', {
      ...{ user_id: user, task: 'write', agent_type: 'scribe', run_first: dice() < 0.5 },
      frequency: recurring ? `every ${minutes} minutes` : 'once',
    })) as unknown as { work: { id: string } }
    const everyMs = recurring ? minutes * MINUTE : null
    trigger = made({ kind: 'work', id: answer.work.id, everyMs })
  })
  if (dice() < 0.3)
    asked(begins + 1 + pick(30), async () => {
      if (trigger?.deleted === false) await house.call('run_work', { id: trigger.id })
    })
  if (dice() < 0.2)
    asked(begins + pick(60), async () => {
      if (trigger === null) return
      trigger.deleted = true
      await cancel(house, trigger)
    })
}

/** For good: what was in hand is withdrawn. */
async function cancel(house: House, trigger: Trigger): Promise<void> {
  if (trigger.kind === 'timer' || trigger.cancelledAt !== null) return
  const { id } = trigger
  if (trigger.kind === 'alarm') {
    const alarm = await house.call('cancel_alarm', { id })
    if (String(alarm.status) === 'cancelled') trigger.cancelledAt = house.now()
    return
  }
  trigger.cancelledAt = house.now()
  if (trigger.kind === 'intent') await house.call('update_intent', { id, enabled: false })
  else if (trigger.deleted) await house.call('delete_work', { id })
  else await house.call('update_work', { id, is_active: false })
}
