/** `wakeful import`: rows of other systems' tables, checked before anything is written, written once. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRow } from '../../packages/cli/src/import-rows.ts'
import { type Live, openLive } from '../sessions/live.ts'
import { eachStore } from '../setup/stores.ts'
import { wakeful } from './stage.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const importing = { now: NOW, agent: null }
const read = (shape: Parameters<typeof readRow>[0], row: object) =>
  readRow(shape, JSON.stringify(row), importing)

const ALARM = {
  id: '7f6b7c1e-0000-4000-8000-000000000001',
  owner_did: 'did:matrix:ann:0123456789abcdef',
  user_id: 'ann',
  label: '',
  kind: 'cron',
  fire_at: null,
  cron_expr: '0 9 * * 1',
  timezone: 'Europe/Berlin',
  next_fire_at: '2026-01-05 08:00:00+00',
  conversation_id: '',
  wake_message: 'plan the week',
  payload: { n: 1 },
  status: 'active',
  idempotency_key: '',
  max_failures: 5,
  failure_count: 0,
  last_error: '',
}
const INTENT = {
  id: '7f6b7c1e-0000-4000-8000-000000000002',
  user_id: 'ann',
  intent_name: 'NVDA low',
  description: null,
  trigger_type: 'price',
  trigger_schedule: null,
  trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
  action_type: 'notify',
  action_context: 'say so',
  action_priority: 'normal',
  next_check: null,
  execution_count: 1,
  enabled: true,
  max_executions: 3,
  expires_at: null,
  metadata: {},
}
const WORK = {
  id: '7f6b7c1e-0000-4000-8000-000000000003',
  user_id: 'ann',
  task: 'report',
  agent_type: 'reporting',
  frequency: 'daily at 9am',
  frequency_cron: '0 9 * * *',
  is_active: false,
  parameters: null,
}

describe('rows', () => {
  it('become calls', () => {
    expect(read('alarms', ALARM)).toMatchObject({
      call: {
        operation: 'set_alarm',
        actAs: ALARM.owner_did,
        input: { kind: 'cron', cron_expr: '0 9 * * 1', idempotency_key: `import-${ALARM.id}` },
      },
    })
    const once = { ...ALARM, kind: 'once', cron_expr: '', fire_at: '2026-02-01 08:00:00+00' }
    expect(read('alarms', once)).toMatchObject({
      call: { input: { fire_at: '2026-02-01T08:00:00+00:00' } },
    })
    expect(read('scheduled_intents', INTENT)).toMatchObject({
      call: { operation: 'create_intent', input: { user_id: 'ann', max_executions: 2 } },
    })
    expect(read('work_tickets', WORK)).toMatchObject({
      call: { operation: 'create_work', paused: true, input: { run_first: false } },
    })
  })

  it('are left out where nothing is ahead of them', () => {
    expect(read('alarms', { ...ALARM, status: 'fired' })).toEqual({
      leftOut: 'its status is fired',
    })
    const past = { ...ALARM, kind: 'once', cron_expr: '', fire_at: '2025-01-01T00:00:00Z' }
    expect(read('alarms', past)).toMatchObject({ leftOut: expect.stringContaining('has passed') })
    expect(read('scheduled_intents', { ...INTENT, execution_count: 3 })).toEqual({
      leftOut: 'it has run 3 of 3 times',
    })
    const once = { ...WORK, frequency: 'once', frequency_cron: null }
    expect(read('work_tickets', once)).toMatchObject({ leftOut: expect.any(String) })
  })

  it('are wrong with all reasons', () => {
    expect(read('alarms', { ...ALARM, cron_expr: '99 9 * * 1' })).toMatchObject({
      wrong: [expect.stringContaining('99')],
    })
    expect(read('alarms', { ...ALARM, wake_message: '', label: 7 })).toMatchObject({
      wrong: [expect.stringContaining('label'), expect.stringContaining('wake_message')],
    })
    const { trigger_condition: _, ...bare } = INTENT
    expect(read('scheduled_intents', bare)).toHaveProperty('wrong')
    expect(readRow('alarms', 'no json', importing)).toHaveProperty('wrong')
    expect(readRow('alarms', '[1]', importing)).toEqual({ wrong: ['is no JSON object'] })
  })
})

eachStore('the command', (store) => {
  let house: Live
  let folder: string
  beforeAll(async () => {
    house = await openLive(await store.database(), { bot: () => undefined })
    folder = await mkdtemp(join(tmpdir(), 'wakeful-import-'))
  })
  afterAll(async () => {
    await house.app.stop()
    await rm(folder, { recursive: true })
  })

  async function run(rows: readonly unknown[], ...more: string[]) {
    const file = join(folder, 'rows.jsonl')
    await writeFile(file, rows.map((row) => JSON.stringify(row)).join('\n'))
    return wakeful(['import', file, ...more], { env: { WAKEFUL_URL: house.url } })
  }
  const count = async (table: string) => {
    const [row] = await house.app.store.db.query<{ n: number }>(
      `select count(*)::int as n from wakeful.${table}`,
    )
    return row?.n
  }

  it('says what it would do, writes nothing, then writes once', async () => {
    const rows = [ALARM, { ...ALARM, id: 'x', status: 'fired' }]
    const dry = await run(rows, '--as', 'alarms', '--agent', 'bot')
    expect(dry).toMatchObject({ code: 0, stderr: '' })
    expect(dry.stdout).toContain('line 1: set_alarm “plan the week” for did:matrix:ann:')
    expect(dry.stdout).toContain('line 2: left out: its status is fired')
    expect(dry.stdout).toContain('2 rows: 1 can be taken over, 1 left out, 0 wrong.')
    expect(dry.stdout).toContain('Nothing was written')
    expect(await count('alarms')).toBe(0)
    for (let again = 0; again < 2; again++) {
      const done = await run(rows, '--as', 'alarms', '--agent', 'bot', '--write')
      expect(done.stdout).toContain('1 of 1 written.')
    }
    expect(await count('alarms')).toBe(1)
    await run([INTENT], '--as', 'scheduled_intents', '--write')
    await run([INTENT], '--as', 'scheduled_intents', '--write')
    expect(await count('scheduled_intents')).toBe(1)
    expect((await run([WORK], '--as', 'work_tickets', '--write')).stdout).toContain(
      '1 of 1 written.',
    )
    const [work] = await house.app.store.db.query('select is_active from wakeful.work')
    expect(work).toEqual({ is_active: false })
  })

  it('writes nothing where a row is wrong, tells what the server refuses, and takes no other shape', async () => {
    const wrong = await run(
      [WORK, { ...WORK, frequency_cron: 'never' }],
      '--as',
      'work_tickets',
      '--write',
    )
    expect(wrong.code).toBe(4)
    expect(wrong.stdout).toMatch(/line 2: wrong: frequency: /)
    expect(await count('work')).toBe(1)
    const refused = await run(
      [{ ...WORK, id: 'n', agent_type: 'nobody' }],
      '--as',
      'work_tickets',
      '--write',
    )
    expect(refused.code).toBe(4)
    expect(refused.stdout).toContain('line 1: refused: agent_type: no executor "nobody"')
    expect((await run([], '--as', 'pigeons')).code).toBe(2)
  })
})
