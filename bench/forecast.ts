/**
 * Forecasts: how long 14 days of somebody with 50 triggers take on the embedded store, in CPU time and by the clock; the first of a
 * process, which opens the store they are held in, and those after it.
 * `node --import tsx bench/forecast.ts [--rounds 5]`
 */
import { cpus, loadavg } from 'node:os'
import { agent } from '../src/agents/function.ts'
import { type TestWakeful, testWakeful } from '../src/testing.ts'
import { flag, report } from './stage.ts'

const DAYS = 14
const START = '2026-11-16T08:00:00Z'
const two = (n: number) => String(n).padStart(2, '0')

/** A person with 30 alarms, 15 intents and 5 works, most of them once a day, and quiet hours. */
async function arrange(app: TestWakeful): Promise<void> {
  const as = { actAs: 'ann' }
  await app.call('set_preferences', {
    ...{ user_id: 'ann', timezone: 'Europe/Berlin' },
    quiet_hours: [{ from: '22:00', to: '07:00' }],
  })
  for (let n = 0; n < 30; n++)
    await app.call(
      'set_alarm',
      {
        ...{ kind: 'cron', cron_expr: `${(n * 7) % 60} ${n % 24} * * *`, agent_id: 'bot' },
        ...{ label: `alarm ${n}`, wake_message: 'wake' },
        ...(n % 2 === 0 ? { conversation_id: 'main' } : {}),
      },
      as,
    )
  for (let n = 0; n < 15; n++) {
    const when =
      n >= conditions
        ? {
            trigger_type: 'cron' as const,
            trigger_schedule: { cron: `${n * 4} ${(n * 5) % 24} * * *` },
          }
        : {
            trigger_type: 'price' as const,
            trigger_condition: { ticker: `T${n}`, operator: '<' as const, value: 100 },
          }
    await app.call(
      'create_intent',
      {
        ...{ ...when, intent_name: `intent ${n}`, agent_id: 'bot', thread_id: 'main' },
        action_context: 'say so',
      },
      as,
    )
  }
  for (let n = 0; n < 5; n++)
    await app.call(
      'create_work',
      {
        ...{ task: `work ${n}`, agent_type: 'job', frequency: `daily at ${two(n * 4)}:30` },
        ...{ notify: true, notify_session: 'ann:bot:main' },
      },
      as,
    )
}

const rounds = flag('rounds', 5)
/** Of the intents, how many wait for a price instead of a time: nobody tells it, so they are looked at every five minutes. */
const conditions = flag('conditions', 0)
const app = await testWakeful({
  ...{ database: 'memory:', startAt: START, agents: { bot: agent((turn) => turn.say('hello')) } },
  work: { job: async ({ task }) => ({ title: task, content: '' }) },
  env: { LOG_LEVEL: 'silent', AUTONOMY_ENABLED: 'true' },
})
try {
  await arrange(app)
  for (let round = 1; round <= rounds; round++) {
    const [startedMs, before] = [performance.now(), process.cpuUsage()]
    const told = (await app.call('forecast', { user_id: 'ann', days: DAYS, limit: 2000 })) as {
      occurrences: readonly { said_at: string | null }[]
      totals: { said: number; deferred: number }
    }
    const { user, system } = process.cpuUsage(before)
    report(`forecast ${round}`, {
      occurrences: told.occurrences.length,
      said: told.totals.said,
      deferred: told.totals.deferred,
      'CPU ms': Math.round((user + system) / 1000),
      'wall ms': Math.round(performance.now() - startedMs),
      load: (loadavg()[0] ?? 0).toFixed(1),
      cores: cpus().length,
    })
  }
} finally {
  await app.stop()
}
