/** The same work beside a million rows that have nothing to do with it: pending timers of others, and events long past. */
import type { Arena, Contest } from '../arena.ts'
import { type Figure, spreadOf } from '../figures.ts'
import { openBenchApp, percentile } from '../stage.ts'

export interface Size {
  readonly rounds: number
  readonly jobs: number
  readonly warmUp: number
  /** Of each kind. */
  readonly others: number
  readonly light: number
  readonly windowMs: number
}

/** Of one of those others, so that a session has a past as a long conversation has. */
const EACH = 100

export async function growth(arena: Arena, size: Size): Promise<Figure[]> {
  const full = await arena.template((url) => fill(url, size.others))
  const rates: Record<'few' | 'many', number[]> = { few: [], many: [] }
  const late: Record<'few' | 'many', number[]> = { few: [], many: [] }
  for (let round = 0; round < size.rounds; round++) {
    for (const rows of round % 2 === 0 ? (['few', 'many'] as const) : (['many', 'few'] as const)) {
      const on = rows === 'many' ? { template: full } : {}
      const burst: Contest = {
        who: 'wakeful',
        loads: [{ kind: 'silent', count: size.jobs, windowMs: 0 }],
        warmUp: size.warmUp,
        ...on,
      }
      const { ms } = await arena.hold(burst)
      rates[rows].push(size.jobs / (ms / 1000))
      const light = { kind: 'light', count: size.light, windowMs: size.windowMs }
      const calm = await arena.hold({ who: 'wakeful', loads: [light], ...on })
      late[rows].push(percentile(calm.late, 0.99))
      console.error(
        `  ${rows} others: ${Math.round(ms)} ms, p99 ${late[rows].at(-1)?.toFixed(1)} ms`,
      )
    }
  }
  await arena.dropTemplate(full)
  const measure = `beside ${size.others.toLocaleString('en-US')} others`
  const { median } = spreadOf(late.few)
  return [
    {
      measure,
      name: 'Wakeful, burst',
      unit: '/s, all durable',
      rounds: rates.many,
      beside: { name: 'an empty database', rounds: rates.few },
      goal: { least: 0.9 },
    },
    {
      measure,
      name: `Wakeful, light (${median.toFixed(1)} without them)`,
      unit: 'ms late, p99',
      rounds: late.many,
      goal: { most: 10 },
    },
  ]
}

async function fill(url: string, others: number): Promise<void> {
  const app = await openBenchApp(url, {})
  try {
    const { migrations } = app.store
    await app.start()
    await migrations.exec(`
      insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, last_seq, done_seq, created_at, updated_at)
        select n % 1024, 'other' || n || ':bot:t', 'other' || n, 'bot', 't', ${EACH}, ${EACH}, now(), now()
        from generate_series(1, ${others / EACH}) n;
      insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, payload, status, created_at, updated_at)
        select n % 1024, 'other' || n || ':bot:t', gen_random_uuid(), 't' || t, now() + interval '30 days' + interval '1 second' * t,
          '{}', 'pending', now(), now()
        from generate_series(1, ${others / EACH}) n, generate_series(1, ${EACH}) t;
      insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, created_at)
        select n % 1024, 'other' || n || ':bot:t', seq, gen_random_uuid(), 'timer', '{"timer_id":"t","payload":{}}', gen_random_uuid(),
          now() - interval '1 hour' * seq, now() - interval '1 hour' * seq
        from generate_series(1, ${others / EACH}) n, generate_series(1, ${EACH}) seq;
      analyze`)
  } finally {
    await app.stop()
  }
}
