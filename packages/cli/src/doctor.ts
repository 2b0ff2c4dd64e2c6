/**
 * `wakeful doctor`: is everything in order, and if not, what to do? Asks the running server; a PostgreSQL of
 * DATABASE_URL is also looked at directly, and so is the embedded store while no server holds it.
 */
import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { readConfig } from '../../../src/app/packs.ts'
import { wallClock } from '../../../src/clock.ts'
import { type Config, ConfigError, environment } from '../../../src/config.ts'
import { errorText } from '../../../src/core/errors.ts'
import type { AnswerOf } from '../../client/src/index.ts'
import { WakefulError } from '../../client/src/index.ts'
import {
  type DatabaseFacts,
  type Finding,
  type Health,
  judgeDatabase,
  judgeDisk,
  judgeNode,
  judgePooling,
  judgeSkew,
  judgeZones,
  worst,
} from '../../doctor/src/facts.ts'
import { tzDataVersion } from '../../schedule/src/index.ts'
import { type Screen, screen } from './screen.ts'
import { away, DEFAULT_URL, type Server, type ServerFlags, serverOf, withServer } from './server.ts'
import type { Colour } from './text.ts'
import { plain } from './text.ts'

export function doctorCommand(): Command {
  return withServer(
    new Command('doctor').description('examine the installation, and say what to do'),
  ).action(doctor)
}

async function doctor(flags: ServerFlags): Promise<void> {
  const { config, finding } = configuration()
  const seen = await serverSeen(serverOf(flags, config === null ? undefined : urlHere(config)))
  const direct = config === null ? null : await databaseSeen(config, seen.database !== null)
  const database = direct?.facts ?? seen.database
  const findings = [
    judgeNode(process.version),
    finding,
    seen.finding,
    ...(direct?.finding === undefined ? [] : [direct.finding]),
    ...(direct?.pooling === undefined ? [] : [direct.pooling]),
    ...(database === null ? [] : judgeDatabase(database)),
    ...(direct?.skew === undefined ? (seen.skew === null ? [] : [seen.skew]) : [direct.skew]),
    judgeZones(tzDataVersion(), seen.tzData),
    ...(config === null ? [] : diskFinding(config)),
  ]
  const out = screen()
  if (flags.json) out.json({ health: worst(findings), findings, node: process.version, database })
  else for (const each of findings) tell(out, each)
  if (worst(findings) === 'fail') process.exitCode = 1
}

/** Where a server with this environment listens, as seen from this machine. */
function urlHere({ host, port }: Config): string {
  if (port === 0) return DEFAULT_URL
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`
}

const COLOURS: Record<Health, Colour> = { ok: 'green', warn: 'yellow', fail: 'red' }

function tell(out: Screen, { check, health, text, advice }: Finding): void {
  out.write(`${out.paint(COLOURS[health], health.padEnd(4))}  ${plain(check)}: ${plain(text)}\n`)
  if (advice !== undefined) out.write(`      → ${plain(advice)}\n`)
}

function configuration(): { config: Config | null; finding: Finding } {
  const check = 'configuration'
  try {
    const config = readConfig(environment())
    const text = `this environment says auth ${config.auth}, services ${config.services.join(', ')}`
    if (!config.autonomy.enabled)
      return {
        config,
        finding: {
          check,
          health: 'warn',
          text: 'AUTONOMY_ENABLED is false: nothing fires',
          advice: 'unset it, unless agents are to stay silent on purpose',
        },
      }
    return { config, finding: { check, health: 'ok', text } }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const advice = 'mend the environment: a server would not start with it'
    return { config: null, finding: { check, health: 'fail', text: error.message, advice } }
  }
}

interface Seen {
  readonly finding: Finding
  readonly database: DatabaseFacts | null
  readonly tzData: string | null
  readonly skew: Finding | null
}

async function serverSeen(server: Server): Promise<Seen> {
  const nothing = { database: null, tzData: null, skew: null }
  const check = 'server'
  try {
    const before = wallClock()
    const found: AnswerOf<'examine'> = await server.client.call('examine')
    const skew = skewFinding(found.database.now, before, wallClock())
    const text = `answers at ${server.url}, Node ${found.node}`
    const finding: Finding = { check, health: 'ok', text }
    return { finding, database: found.database, tzData: found.tz_data, skew }
  } catch (error) {
    const wrong = away(error, server.url)
    const health: Health = 'fail'
    if (wrong instanceof WakefulError && (wrong.status === 401 || wrong.status === 403)) {
      const advice = 'examining a server needs an admin key: give one with --key or WAKEFUL_KEY'
      return { ...nothing, finding: { check, health, text: errorText(wrong), advice } }
    }
    const advice = 'start it with wakeful serve, or look into its log'
    return { ...nothing, finding: { check, health, text: errorText(wrong), advice } }
  }
}

/** The answer was made somewhere between the two looks at the clock. */
function skewFinding(databaseNow: string, before: number, after: number): Finding {
  return judgeSkew(Date.parse(databaseNow) - (before + after) / 2, (after - before) / 2)
}

interface Direct {
  readonly facts?: DatabaseFacts
  readonly finding?: Finding
  readonly skew?: Finding
  readonly pooling?: Finding
}

/** The embedded store belongs to one process: only looked at directly when no server told of it. */
async function databaseSeen(config: Config, told: boolean): Promise<Direct | null> {
  const { databaseUrl, schema } = config
  const embedded = directoryOf(databaseUrl)
  if (databaseUrl === 'memory:' || (embedded !== null && told)) return null
  if (embedded !== null && !existsSync(embedded)) {
    const text = `${embedded} does not exist yet`
    return {
      finding: { check: 'database', health: 'ok', text: `${text}: the first start makes it` },
    }
  }
  // Loaded here alone: most of the time the server tells.
  const [{ openStore }, { examine }, { sharesConnections }] = await Promise.all([
    import('../../../src/store/open.ts'),
    import('../../doctor/src/rows.ts'),
    import('../../../src/store/postgres.ts'),
  ])
  try {
    const store = await openStore(databaseUrl, {
      now: () => null,
      onError: () => undefined,
      schema,
    })
    try {
      await store.db.query('select 1')
      const before = wallClock()
      const facts = await examine(store.db)
      const skew = skewFinding(facts.now, before, wallClock())
      if (store.kind === 'pglite') return { facts, skew }
      const { listen } = store
      const shared = listen !== null && (await sharesConnections(listen))
      const seen = listen === null ? 'told' : shared ? 'shared' : 'own'
      return { facts, skew, pooling: judgePooling(seen) }
    } finally {
      await store.close()
    }
  } catch (error) {
    const advice = 'see that DATABASE_URL is right and the database runs and takes connections'
    return { finding: { check: 'database', health: 'fail', text: errorText(error), advice } }
  }
}

function directoryOf(databaseUrl: string): string | null {
  return databaseUrl.startsWith('pglite:') ? databaseUrl.slice('pglite:'.length) : null
}

function diskFinding(config: Config): Finding[] {
  const directory = directoryOf(config.databaseUrl)
  if (directory === null || !existsSync(directory)) return []
  const { bavail, bsize } = statfsSync(directory)
  return [judgeDisk(directory, bytesIn(directory), bavail * bsize)]
}

/** Files may vanish while they are counted: the server that owns them is at work. */
function bytesIn(directory: string): number {
  return readdirSync(directory, { withFileTypes: true, recursive: true }).reduce(
    (sum, entry) =>
      entry.isFile()
        ? sum + (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0)
        : sum,
    0,
  )
}
