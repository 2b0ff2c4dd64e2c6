/**
 * `wakeful keys create|list|revoke|webhook-secret`. Works on the database itself, so the first admin key can be created
 * before anyone can sign in. Beside a running server with the embedded store, whose directory is locked, use `/v1/keys`.
 */
import { Command, Option } from 'commander'
import { readConfig } from '../../../src/app/packs.ts'
import { environment } from '../../../src/config.ts'
import { Refusal } from '../../../src/core/errors.ts'
import { isUuid, newId } from '../../../src/core/ids.ts'
import type { AuditEntry } from '../../../src/features/identity/audit.ts'
import { writeAudit } from '../../../src/features/identity/audit-rows.ts'
import { makeKey, ROLES } from '../../../src/features/identity/key.ts'
import {
  instantOf,
  keyBody,
  keyView,
  planKey,
} from '../../../src/features/identity/key-operations.ts'
import { insertKey, KEYS, type KeyRow, revokeKey } from '../../../src/features/identity/key-rows.ts'
import type { Db } from '../../../src/store/db.ts'
import { DirectoryInUseError } from '../../../src/store/lock.ts'
import { ensureMigrated } from '../../../src/store/migrate.ts'
import { openStore } from '../../../src/store/open.ts'
import { readPage } from '../../../src/store/page.ts'
import { announce, readSetting } from '../../../src/store/settings.ts'

const LIST_MAX = 500

interface CreateOptions {
  readonly role: string
  readonly user?: string
  readonly agent?: string
  readonly did?: string
  readonly expires?: string
  readonly json?: boolean
}

export function keysCommand(): Command {
  const keys = new Command('keys')
    .description('create, list and revoke API keys (works on the database itself)')
    .exitOverride()
  keys
    .command('create')
    .description('make a key; it is shown once')
    .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).makeOptionMandatory())
    .option('--user <id>', 'whose it is (agent, user; for a worker: the only user it works for)')
    .option('--agent <id>', 'the one agent whose sessions it reaches')
    .option('--did <did>', 'the name its agent proves by signing a challenge')
    .option('--expires <instant>', 'such as 2030-01-31T09:00:00Z')
    .option('--json', 'for programs')
    .action((options: CreateOptions) => {
      const wanted = wantedKey(options)
      return withDb((db) => create(db, wanted, options.json ?? false))
    })
  keys
    .command('list')
    .description('keys, newest first, without their secrets')
    .option('--json', 'for programs')
    .action((options: { json?: boolean }) =>
      withDb(async (db) => {
        const rows = await readPage(db, KEYS, { limit: LIST_MAX })
        print(options.json ? JSON.stringify(rows.map(keyView)) : table(rows))
      }),
    )
  keys
    .command('revoke')
    .description('end a key; running servers refuse it at once')
    .argument('<id>', 'as the list shows it')
    .action((id: string) => withDb((db) => revoke(db, id)))
  keys
    .command('webhook-secret')
    .description('the secret that signs outgoing calls')
    .action(webhookSecret)
  return keys
}

/** Checked before the database is opened. */
function wantedKey(options: CreateOptions) {
  const { user, agent, did, expires } = options
  const given = keyBody.strict().safeParse({
    role: options.role,
    user_id: user,
    agent_id: agent,
    owner_did: did,
    expires_at: expires,
  })
  if (!given.success)
    throw new Error(given.error.issues.map((e) => `${e.path.join('.')}: ${e.message}`).join('; '))
  const { owner, errors } = planKey(given.data)
  if (errors.length > 0) throw new Refusal('rule', errors)
  const { role, agent_id: agentId = null, expires_at } = given.data
  return { role, agentId, ...owner, expiresAt: instantOf(expires_at) }
}

async function create(db: Db, wanted: ReturnType<typeof wantedKey>, json: boolean): Promise<void> {
  const id = newId()
  const { key, hash } = makeKey(wanted.role, id)
  const row = await db.tx(async (tx) => {
    const made = await insertKey(tx, { id, hash, ...wanted })
    if (made !== null) await writeAudit(tx, [entry('create_key', id)])
    return made
  })
  if (row === null) throw new Refusal('rule', '--expires: must be in the future')
  if (json) print(JSON.stringify({ ...keyView(row), key }))
  else print(`${key}\n\nThis is key ${id}. It is shown this once: keep it where it is needed.`)
}

async function revoke(db: Db, id: string): Promise<void> {
  if (!isUuid(id)) throw new Error(`there is no key ${id}; "wakeful keys list" shows them`)
  const row = await db.tx(async (tx) => {
    const ended = await revokeKey(tx, id)
    if (ended !== null) await writeAudit(tx, [entry('revoke_key', id)])
    return ended
  })
  if (row === null) throw new Error(`there is no key ${id}; "wakeful keys list" shows them`)
  // Only one process can open the embedded store, so no other one needs to hear of it.
  if (db.kind === 'postgres') await announce(db, { from: 'command line', topics: [['keys', [id]]] })
  print(`revoked ${id}`)
}

/** A caller with access to the database acts as admin without a key. */
function entry(operation: string, objectId: string): AuditEntry {
  const actor = { keyId: 'command line', role: 'admin', userId: null, actedFor: false }
  return { ...actor, operation, objectId, owner: null, requestId: newId(), summary: '' }
}

async function webhookSecret(): Promise<void> {
  const given = readConfig(environment()).webhookSecret
  if (given !== null) return print(given)
  await withDb(async (db) => {
    const kept = await readSetting(db, 'webhook_secret')
    if (kept === null)
      throw new Error('there is no webhook secret yet: it is made when the server first starts')
    print(kept)
  })
}

function table(rows: readonly KeyRow[]): string {
  if (rows.length === 0) return 'no keys'
  const cells = rows.map((row) => [
    row.id,
    row.role,
    row.owner_did ?? '-',
    row.agent_id ?? '-',
    row.revoked_at === null ? until(row) : `revoked ${row.revoked_at.toISOString()}`,
    row.last_used_at === null ? 'never used' : `used ${row.last_used_at.toISOString()}`,
  ])
  const widths = cells[0]?.map((_, at) => Math.max(...cells.map((line) => line[at]?.length ?? 0)))
  return cells
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths?.[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function until(row: KeyRow): string {
  return row.expires_at === null ? 'without end' : `until ${row.expires_at.toISOString()}`
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

async function withDb(work: (db: Db) => Promise<void>): Promise<void> {
  const { databaseUrl, migrate, schema } = readConfig(environment())
  const options = {
    schema,
    now: () => null,
    onError: (error: Error) => process.stderr.write(`${error.message}\n`),
  }
  const store = await openStore(databaseUrl, options).catch((error: unknown) => {
    if (!(error instanceof DirectoryInUseError)) throw error
    throw new Error(`${error.message}; or ask the running server: /v1/keys`)
  })
  try {
    await ensureMigrated(store.migrations, migrate)
    await work(store.migrations)
  } finally {
    await store.close()
  }
}
