/** The doctor: what the database and this server tell of their health, for `wakeful doctor` and for monitoring. */
import { z } from 'zod'
import { judgeDatabase, worst } from '../../core/doctor.ts'
import { tzDataVersion } from '../../core/schedule/index.ts'
import { examine } from '../../store/db/doctor.ts'
import { operation } from '../contract.ts'

const count = z.number()
const health = z.enum(['ok', 'warn', 'fail'])
const instant = z.iso.datetime()

const output = z.object({
  health,
  findings: z.array(
    z.object({
      check: z.string(),
      health,
      text: z.string(),
      advice: z.string().optional().describe('What to do.'),
    }),
  ),
  node: z.string(),
  tz_data: z.string(),
  database: z.object({
    kind: z.enum(['pglite', 'postgres']),
    version: z.string(),
    now: instant,
    size_bytes: count,
    autovacuum: z.boolean(),
    connections: z.object({ used: count, max: count }).nullable(),
    oldest_transaction_ms: count,
    migrations: z.array(z.object({ name: z.string(), applied_at: instant.nullable() })),
    due: z.array(z.object({ table: z.string(), lag_ms: count, late: count })),
    stuck: z.array(z.object({ table: z.string(), count })),
    tables: z.array(
      z.object({
        table: z.string(),
        live_rows: count,
        dead_rows: count,
        vacuumed_at: instant.nullable(),
      }),
    ),
  }),
})

export const doctor = [
  operation({
    name: 'examine',
    method: 'GET',
    path: '/v1/doctor',
    tag: 'Health',
    summary: 'Examine the installation: what is wrong, and what to do',
    description:
      'Database and migrations, due rows that wait, leases that nobody took up, dead rows, connections.',
    roles: ['admin'],
    unowned: true,
    output,
    async run(ctx) {
      const database = await examine(ctx.db)
      const findings = judgeDatabase(database)
      return {
        body: {
          health: worst(findings),
          findings,
          node: process.version,
          tz_data: tzDataVersion(),
          database,
        },
      }
    },
  }),
]
