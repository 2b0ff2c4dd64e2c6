/** Random people for forecasts: their preferences, what they have arranged, what they would add, and the facts of their next days. */
import fc from 'fast-check'
import { type Agent, agent } from '../../src/index.ts'

const HOUR = 3_600_000
const hour = fc.integer({ min: 0, max: 23 })
const minute = fc.constantFrom(0, 15, 30, 45)
const two = (n: number) => String(n).padStart(2, '0')
const thread = fc.constantFrom('main', 'other')
const bot = fc.constantFrom('bot', 'nag')
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })

export const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata'] as const

const preferences = fc.record({
  timezone: fc.constantFrom(...ZONES),
  // Two of them leave some hours of the day.
  quiet_hours: fc.array(
    fc.tuple(hour, minute, fc.integer({ min: 1, max: 9 })).map(([h, m, long]) => ({
      from: `${two(h)}:${two(m)}`,
      to: `${two((h + long) % 24)}:${two(m)}`,
    })),
    { maxLength: 2 },
  ),
  most_unasked_per_day: optional(fc.integer({ min: 0, max: 6 })),
  muted_agents: fc.constantFrom([], [], ['nag']),
})

const cron = fc
  .tuple(minute, hour, fc.constantFrom('*', 'mon-fri', '2'))
  .map(([m, h, days]) => `${m} ${h} * * ${days}`)
const every = fc.constantFrom('@every 5h', '@every 7h30m', '@every 1d')

const alarm = fc
  .record({
    when: fc.oneof(cron, every, fc.integer({ min: 60, max: 200_000 })),
    agent: bot,
    thread,
    own: fc.boolean(),
  })
  .map(({ when, agent: agent_id, thread: conversation_id, own }) => ({
    ...(typeof when === 'number'
      ? { kind: 'once', delay_seconds: when }
      : { kind: 'cron', cron_expr: when }),
    ...{ agent_id, wake_message: 'wake', ...(own ? {} : { conversation_id }) },
  }))

const timing = fc.oneof(
  cron.map((each) => ({ trigger_type: 'cron', trigger_schedule: { cron: each } })),
  fc.integer({ min: 200, max: 900 }).map((interval_minutes) => ({
    trigger_type: 'interval',
    trigger_schedule: { interval_minutes },
  })),
  fc.integer({ min: 80, max: 120 }).map((value) => ({
    trigger_type: 'price',
    trigger_condition: { ticker: 'ACME', operator: '<', value },
  })),
  fc.constant({ trigger_type: 'event', trigger_condition: { keywords: ['door'] } }),
  fc.integer({ min: 6, max: 40 }).map((threshold_hours) => ({
    trigger_type: 'silence',
    trigger_condition: { threshold_hours },
  })),
)
const intent = fc
  .record({ timing, agent: bot, thread, priority: fc.constantFrom('normal', 'normal', 'critical') })
  .map(({ timing: when, agent: agent_id, thread: thread_id, priority: action_priority }) => ({
    ...when,
    // Looked at seldom: each look is an instant, and the days of the real one take long.
    trigger_schedule: {
      check_interval_minutes: 150,
      ...('trigger_schedule' in when ? when.trigger_schedule : {}),
    },
    ...{ agent_id, thread_id, action_priority, action_context: 'say so' },
  }))

const work = fc
  .record({
    frequency: fc.oneof(
      every,
      hour.map((h) => `daily at ${two(h)}:30`),
    ),
    run_first: fc.boolean(),
    notify: fc.boolean(),
    thread,
  })
  .map(({ thread: threadId, ...rest }) => ({
    ...rest,
    agent_type: 'job',
    notify_session: `ann:bot:${threadId}`,
  }))

const fact = fc.oneof(
  fc.integer({ min: 70, max: 130 }).map((price) => ({ kind: 'price', ticker: 'ACME', price })),
  fc.constant({ kind: 'event', name: 'door' }),
)

export const life = fc.record({
  preferences,
  alarms: fc.array(alarm, { maxLength: 5 }),
  intents: fc.array(intent, { maxLength: 5 }),
  work: fc.array(work, { maxLength: 2 }),
  draft: fc.record({
    alarms: fc.array(alarm, { maxLength: 2 }),
    intents: fc.array(intent, { maxLength: 2 }),
    work: fc.array(work, { maxLength: 1 }),
  }),
  timers: fc.array(fc.integer({ min: 1, max: 60 * 30 }), { maxLength: 3 }),
  /** How much of it has been lived when it is forecast. */
  lived: fc.integer({ min: 0, max: 30 * 60 }).map((minutes) => minutes * 60_000),
  facts: fc
    .array(fc.tuple(fc.integer({ min: 1, max: 71 * 4 }), fact), { maxLength: 6 })
    .map((all) => all.map(([quarter, signal]) => ({ inMs: (quarter * HOUR) / 4, signal }))),
  paused: optional(fc.integer({ min: 1, max: 30 })),
  run: fc.boolean(),
})
export type Life = typeof life extends fc.Arbitrary<infer L> ? L : never

/** Names tell what belongs to what: the ids of a draft are not those it gets when it is set for good. */
export function named<T extends object>(
  items: readonly T[],
  field: string,
  prefix: string,
): (T & Record<string, string>)[] {
  return items.map(
    (item, place) => ({ ...item, [field]: `${prefix} ${place}` }) as T & Record<string, string>,
  )
}

/** As a recorder: one message whatever wakes it. */
export const plain = agent((turn) => turn.say(`about ${turn.event.type}`))

/** Keeps count, follows up twice, and is silent now and then. */
export const moody: Agent = agent(
  (turn) => {
    const count = Number(turn.state.count ?? 0) + 1
    turn.state.count = count
    if (turn.event.type === 'alarm')
      turn.schedule('again', { in: 3600 * (1 + (count % 3)), cancelOnReply: true })
    if (count % 4 !== 0) turn.say(`${turn.event.type} ${count}`)
  },
  { runsInForecasts: true },
)
