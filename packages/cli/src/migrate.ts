/** `wakeful migrate up|down|status`. */
import { Command } from 'commander'
import { readConfig } from '../../../src/app/packs.ts'
import { environment } from '../../../src/config.ts'
import type { Db } from '../../../src/store/db.ts'
import { ensureMigrated, migrateDown, migrationStatus } from '../../../src/store/migrate.ts'
import { openShards } from '../../../src/store/open.ts'
import { UsageError } from './exit.ts'

export function migrateCommand(): Command {
  const migrate = new Command('migrate').description(
    'bring the database schema up, down, or show it',
  )
  migrate
    .command('up')
    .description('apply what is missing')
    .action(() =>
      withEach(async (db, shard) => say(`${shard}applied`, await ensureMigrated(db, 'auto'))),
    )
  migrate
    .command('down')
    .description('take back everything; data in the wakeful schema is deleted')
    .option('--steps <n>', 'only the newest n')
    .option('--yes', 'needed: it deletes data')
    .action((options: { steps?: string; yes?: boolean }) => {
      const steps = options.steps === undefined ? undefined : Number(options.steps)
      if (steps !== undefined && !(Number.isInteger(steps) && steps > 0)) {
        throw new UsageError('--steps takes a whole number, 1 or more')
      }
      if (!options.yes) {
        throw new UsageError('migrate down deletes data: say --yes if you mean it')
      }
      return withEach(async (db, shard) => say(`${shard}taken back`, await migrateDown(db, steps)))
    })
  migrate
    .command('status')
    .description('which migrations are applied')
    .option('--json', 'for programs')
    .action((options: { json?: boolean }) =>
      withEach(async (db, shard) => {
        const states = await migrationStatus(db)
        if (options.json) process.stdout.write(`${JSON.stringify(states)}\n`)
        else
          for (const { name, appliedAt } of states)
            process.stdout.write(`${shard}${name}  ${appliedAt?.toISOString() ?? 'not applied'}\n`)
      }),
    )
  return migrate
}

function say(what: string, names: string[]): void {
  process.stdout.write(names.length === 0 ? 'nothing to do\n' : `${what}: ${names.join(', ')}\n`)
}

/** One shard after the other; where there are several, each is named. */
async function withEach(work: (db: Db, shard: string) => Promise<void>): Promise<void> {
  const { shards, schema } = readConfig(environment())
  const stores = await openShards(shards, {
    schema,
    now: () => null,
    onError: (error) => process.stderr.write(`${error.message}\n`),
  })
  try {
    for (const [number, { migrations }] of stores.entries())
      await work(migrations, stores.length === 1 ? '' : `shard ${number}  `)
  } finally {
    await Promise.all(stores.map((store) => store.close()))
  }
}
