/** Two years of daily work in two zones, across every change of their clocks. */
import { afterAll, expect, it } from 'vitest'
import { stage } from '../setup/listening-app.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'

const DAY_MS = 86_400_000
const DAYS = 731
const ZONES = ['America/New_York', 'Australia/Sydney'] as const

const made: string[] = []
afterAll(() => dropDatabases(made))

it('rules 2 and 30: once per local day at nine, for two years', async () => {
  const echo = async () => ({ title: 'Good morning', content: '' })
  // Sixty thousand statements: PostgreSQL takes half the time that the embedded store does.
  const database = await postgresDatabase(made)
  const s = await stage(database, { work: { echo }, startAt: '2026-01-01T00:00:00Z' })
  const ids = new Map<string, string>()
  for (const timezone of ZONES) {
    const body = {
      task: 'greet',
      agent_type: 'echo',
      frequency: 'daily at 9am',
      timezone,
      run_first: false,
    }
    ids.set(timezone, (await s.call('POST', '/v1/work', body)).body.work.id)
  }
  await s.advanceBy(DAYS * DAY_MS)
  for (const timezone of ZONES) {
    const rows = await s.query<{
      scheduled_for: Date
      status: string
      started_at: Date
      missed_count: number
    }>(
      'select scheduled_for, status, started_at, missed_count from wakeful.work_outputs where work_id = $1 order by run_number',
      [ids.get(timezone)],
    )
    const local = new Intl.DateTimeFormat('sv-SE', {
      timeZone: timezone,
      dateStyle: 'short',
      timeStyle: 'medium',
    })
    const [days, times] = [new Set<string>(), new Set<string>()]
    for (const row of rows) {
      const [day = '', time = ''] = local.format(row.scheduled_for).split(' ')
      days.add(day)
      times.add(time)
      expect(row).toMatchObject({ status: 'completed', missed_count: 0 })
      expect(row.started_at).toEqual(row.scheduled_for)
    }
    expect([...times], timezone).toEqual(['09:00:00'])
    expect(rows.length, timezone).toBe(DAYS)
    expect(days.size, timezone).toBe(DAYS)
    // Winter and summer differ, so the clocks did change on the way.
    expect(new Set(rows.map((row) => row.scheduled_for.getUTCHours())).size, timezone).toBe(2)
  }
})
