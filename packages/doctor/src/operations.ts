/** The doctor: what the database and this server tell of their health, for `wakeful doctor` and for monitoring. */
import { z } from 'zod'
import { type Across, operation } from '../../../src/api/contract.ts'
import { refusalOf } from '../../../src/api/refusal.ts'
import { Refusal } from '../../../src/core/errors.ts'
import { tzDataVersion } from '../../schedule/src/index.ts'
import { type Finding, judgeDatabase, worst } from './facts.ts'
import { examine } from './rows.ts'

const count = z.number()
const health = z.enum(['ok', 'warn', 'fail'])
const instant = z.iso.datetime()

const database = z.object({
  kind: z.enum(['pglite', 'postgres']),
  version: z.string(),
  now: instant,
  size_bytes: count,
  autovacuum: z.boolean(),
  connections: z.object({ used: count, max: count }).nullable(),
  oldest_transaction_ms: count,
  clock_ahead_ms: count.describe('How far the newest stamp of a row is ahead of the clock.'),
  migrations: z.array(z.object({ name: z.string(), applied_at: instant.nullable() })),
  due: z.array(z.object({ table: z.string(), lag_ms: count, late: count })),
  stuck: z.array(z.object({ table: z.string(), count })),
  ending_keys: z.array(z.object({ id: z.string(), role: z.string(), ends_at: instant })),
  tables: z.array(
    z.object({
      table: z.string(),
      live_rows: count,
      dead_rows: count,
      vacuumed_at: instant.nullable(),
    }),
  ),
})

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
  database,
  shards: z
    .array(z.object({ shard: z.int(), database: database.nullable() }))
    .optional()
    .describe('Where there are several: each, null where it is away.'),
})

type Examined = Omit<z.input<typeof output>, 'findings'>

/** Each shard on its own: one that is away is a finding, not the end of the examination. */
const examineEach: Across = async (shards, ask) => {
  const asked = Array.from({ length: shards }, async (_, shard) => {
    try {
      const { body } = await ask(shard)
      const { findings, ...rest } = body as Examined & { findings: Finding[] }
      return { shard, rest, findings: findings.map((each) => inShardOf(shard, each)) }
    } catch (error) {
      const text = refusalOf(error).message
      const advice = 'see that its database runs and takes connections; all others are served'
      const finding = { check: 'database', health: 'fail' as const, text, advice }
      return { shard, rest: null, findings: [inShardOf(shard, finding)] }
    }
  })
  const all = await Promise.all(asked)
  const findings = all.flatMap((each) => each.findings)
  const seen = all.flatMap(({ rest }) => rest ?? [])[0]
  if (seen === undefined) throw new Refusal('unavailable', 'no shard answered; try again soon')
  const each = all.map(({ shard, rest }) => ({ shard, database: rest?.database ?? null }))
  return { body: { ...seen, health: worst(findings), findings, shards: each } }
}

function inShardOf(shard: number, finding: Finding): Finding {
  return { ...finding, check: `shard ${shard}, ${finding.check}` }
}

export const doctor = [
  operation({
    name: 'examine',
    method: 'GET',
    path: '/v1/doctor',
    tag: 'Health',
    summary: 'Examine the installation: what is wrong, and what to do',
    description:
      'Database and migrations, due rows that wait, leases that nobody took up, dead rows, connections.',
    owner: 'nobody',
    roles: ['admin'],
    across: examineEach,
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
