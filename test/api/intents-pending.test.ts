/** `/pending` reads the head of its index, whatever the statistics say and however many intents are kept. */
import { expect, it } from 'vitest'
import { claimPending, pendingIntents } from '../../src/features/intents/report-rows.ts'
import type { Db } from '../../src/store/db.ts'
import { house } from '../sessions/house.ts'
import { eachStore } from '../setup/stores.ts'

const TOKEN = '0195f5a0-0000-7000-8000-000000000001'

/** The same statements, explained instead of run. */
function explaining(db: Db, plans: string[]): Db {
  const explain = (tx: Db): Db => ({
    ...tx,
    query: async <R extends object>(text: string, values?: readonly unknown[]) => {
      const rows = await tx.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values)
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
      return [] as R[]
    },
  })
  return { ...db, tx: (work, options) => db.tx((tx) => work(explain(tx)), options) }
}

eachStore('pending at scale', (store) => {
  const open = house(store, { bot: () => undefined })

  it('is one range of one index, with the statistics of an empty table and with true ones', async () => {
    const { db } = open().wakeful.app.store
    await db.exec('analyze wakeful.scheduled_intents')
    await db.query(
      `insert into wakeful.scheduled_intents (bucket, id, user_id, intent_name, trigger_type, action_context, next_check,
         created_at, updated_at, anchor_at)
       select 0, gen_random_uuid(), 'u' || n / 25, 'x', 'calendar', 'x', $1::timestamptz + (n - 50) * interval '1 minute', $1, $1, $1
       from generate_series(1, 5000) n`,
      [db.now()],
    )
    for (const statistics of ['', 'analyze wakeful.scheduled_intents']) {
      if (statistics !== '') await db.exec(statistics)
      const plans: string[] = []
      const explained = explaining(db, plans)
      await pendingIntents(explained, { userId: null, limit: 1000, offset: 0 })
      await claimPending(explained, { userId: null, seconds: 60, tokens: [TOKEN] })
      expect(plans).toHaveLength(2)
      for (const plan of plans) {
        expect(plan).toContain('Index Scan using idx_intents_pending')
        expect(plan).toMatch(/Index Cond: .*next_check <= /)
        expect(plan).not.toMatch(/Seq Scan|Sort/)
      }
    }
    const rows = await pendingIntents(db, { userId: null, limit: 1000, offset: 0 })
    expect(rows).toHaveLength(50)
  })
})
