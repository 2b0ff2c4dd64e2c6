/** An agent's own key cannot pass the agent's limit of what waits, however many calls it makes at once. */
import { afterEach, expect, it } from 'vitest'
import { openStage, type Stage } from '../identity/stage.ts'
import { eachStore } from '../setup/stores.ts'

const MAX = 10
const CALLS = 50
const ENV = { WAKEFUL_PENDING_MAX: String(MAX) }

const ALARM = { kind: 'once', delay_seconds: 86_400, wake_message: 'x' }
const INTENT = {
  intent_name: 'x',
  action_context: 'x',
  trigger_type: 'cron',
  trigger_schedule: { cron: '0 9 * * *' },
}
const WORK = { task: 'x', agent_type: 'reporting', frequency: 'daily at 9am', run_first: false }

type Call = (n: number) => readonly [method: string, path: string, body: object]
const CALLS_OF = {
  alarms: () => ['POST', '/v1/alarms', ALARM],
  intents: () => ['POST', '/v1/intents', INTENT],
  work: () => ['POST', '/v1/work', WORK],
  timers: (n) => ['PUT', `/v1/sessions/ann:bot:t/timers/${n}`, { delay_seconds: 86_400 }],
} satisfies Record<string, Call>
const ALL: Call[] = Object.values(CALLS_OF)
const kinds: [string, Call][] = [
  ...Object.entries(CALLS_OF),
  ['all kinds', (n) => (ALL[n % ALL.length] as Call)(n)],
]

eachStore('parallel calls with the key of an agent', (store) => {
  let open: Stage[] = []
  afterEach(async () => {
    await Promise.all(open.map((s) => s.stop()))
    open = []
  })

  async function stages(count: number): Promise<{ key: string; all: Stage[] }> {
    const database = await store.database()
    for (let n = 0; n < count; n++) open.push(await openStage(database, ENV))
    const { key } = await (open[0] as Stage).key({
      ...{ role: 'agent', user_id: 'ann', agent_id: 'bot' },
    })
    return { key, all: open }
  }

  async function statuses(all: readonly Stage[], key: string, call: Call): Promise<number[]> {
    const replies = await Promise.all(
      Array.from({ length: CALLS }, (_, n) => (all[n % all.length] as Stage).call(key, ...call(n))),
    )
    return replies.map(({ status }) => status)
  }

  const waiting = async (s: Stage) => {
    const [row] = await s.query<{ n: number }>(
      `select ((select count(*) from wakeful.alarms where status = 'active')
        + (select count(*) from wakeful.scheduled_intents where enabled)
        + (select count(*) from wakeful.work where is_active)
        + (select count(*) from wakeful.autonomy_timers where status = 'pending'))::int as n`,
    )
    return row?.n
  }

  it.each(kinds)('%s: exactly as many wait as may', async (_, call) => {
    const { key, all } = await stages(1)
    const got = await statuses(all, key, call)
    expect(await waiting(all[0] as Stage)).toBe(MAX)
    expect(got.filter((status) => status < 300)).toHaveLength(MAX)
    expect(got.filter((status) => status === 429)).toHaveLength(CALLS - MAX)
  })

  it('a cancelled alarm frees its place at once', async () => {
    const { key, all } = await stages(1)
    const s = all[0] as Stage
    await statuses(all, key, CALLS_OF.alarms)
    const { body } = await s.call(key, 'GET', '/v1/alarms?status=active&limit=3')
    for (const { id } of body.data) await s.call(key, 'DELETE', `/v1/alarms/${id}`)
    expect(await waiting(s)).toBe(MAX - 3)
    await statuses(all, key, CALLS_OF.alarms)
    expect(await waiting(s)).toBe(MAX)
  })

  it('what was switched off comes back only as far as there is room', async () => {
    const { key, all } = await stages(1)
    const s = all[0] as Stage
    const { body: intent } = await s.call(key, 'POST', '/v1/intents', { ...INTENT, enabled: false })
    const { body: made } = await s.call(key, 'POST', '/v1/work', WORK)
    await s.call(key, 'PATCH', `/v1/work/${made.work.id}`, { is_active: false })
    await statuses(all, key, CALLS_OF.alarms)
    const enabled = await s.call(key, 'PUT', `/v1/intents/${intent.id}`, { enabled: true })
    const resumed = await s.call(key, 'PATCH', `/v1/work/${made.work.id}`, { is_active: true })
    expect([enabled.status, resumed.status]).toEqual([429, 429])
    expect(await waiting(s)).toBe(MAX)
  })

  it('an Idempotency-Key changes nothing about it', async () => {
    const { key, all } = await stages(1)
    const s = all[0] as Stage
    await Promise.all(
      Array.from({ length: CALLS }, (_, n) =>
        s.call(key, 'POST', '/v1/alarms', ALARM, { 'idempotency-key': `key-${n}` }),
      ),
    )
    expect(await waiting(s)).toBe(MAX)
  })

  if (store.name !== 'pglite')
    it.each(kinds)('%s: exactly as many wait as may, in two processes', async (_, call) => {
      const { key, all } = await stages(2)
      await statuses(all, key, call)
      expect(await waiting(all[0] as Stage)).toBe(MAX)
    })
})
