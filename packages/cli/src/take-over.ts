/** What was read from another system, told and then written: nothing without `--write`, and nothing while something is wrong. */
import type { Command } from 'commander'
import { WakefulError } from '../../client/src/index.ts'
import { EXIT } from './exit.ts'
import type { Call, Read } from './import-rows.ts'
import { away, DEFAULT_URL, type Server, serverOf } from './server.ts'
import { plain } from './text.ts'

const TOLD_MAX = 100

export interface TakingOver {
  readonly write?: boolean
  readonly url?: string
  readonly key?: string
}

/** The flags that every import has. */
export function withTakingOver(command: Command): Command {
  return command
    .option('--agent <id>', 'the agent that is woken')
    .option('--write', 'do it; without this, only say what would be done')
    .option('--url <url>', `the server (or WAKEFUL_URL; ${DEFAULT_URL} by default)`)
    .option('--key <key>', 'your key, of an admin or a service (or WAKEFUL_KEY)')
}

export interface Found {
  /** What it is called when it is told of: `line 3`. */
  readonly name: string
  readonly read: Read
}

export async function takeOver(found: readonly Found[], flags: TakingOver): Promise<void> {
  const calls = found.flatMap(({ name, read }) =>
    'call' in read ? [{ name, call: read.call }] : [],
  )
  const wrong = found.filter(({ read }) => 'wrong' in read).length
  tell(found.flatMap((each) => toldOf(each, flags.write === true)))
  const left = found.length - calls.length - wrong
  say(`${found.length} rows: ${calls.length} can be taken over, ${left} left out, ${wrong} wrong.`)
  if (wrong > 0) process.exitCode = EXIT.refused
  if (flags.write !== true) return say('Nothing was written: --write does it.')
  if (wrong > 0) return say('Nothing was written: mend what is wrong, or take it out, first.')
  await write(calls, flags)
}

function toldOf({ name, read }: Found, writes: boolean): string[] {
  if ('wrong' in read) return [`${name}: wrong: ${read.wrong.join('; ')}`]
  if ('leftOut' in read) return [`${name}: left out: ${read.leftOut}`]
  const { operation, title, paused } = read.call
  const whose = read.call.actAs ?? read.call.input.user_id ?? 'the key’s owner'
  return writes
    ? []
    : [`${name}: ${operation} “${title.slice(0, 60)}” for ${whose}${paused ? ', paused' : ''}`]
}

function tell(lines: readonly string[]): void {
  for (const line of lines.slice(0, TOLD_MAX)) say(line)
  if (lines.length > TOLD_MAX) say(`… and ${lines.length - TOLD_MAX} more`)
}

function say(line: string): void {
  process.stdout.write(`${plain(line)}\n`)
}

/** One after the other; a refusal is told with its line, and the others go on. A server that is away ends it. */
async function write(
  calls: readonly { name: string; call: Call }[],
  flags: TakingOver,
): Promise<void> {
  const servers = new Map<string, Server>()
  let done = 0
  for (const { name, call } of calls) {
    const owner = call.actAs ?? ''
    const server = servers.get(owner) ?? serverFor(call.actAs, flags)
    servers.set(owner, server)
    try {
      await send(server, call)
      done++
    } catch (error) {
      const isRefusal = error instanceof WakefulError && error.status >= 400 && error.status < 500
      if (!isRefusal) throw away(error, server.url)
      say(`${name}: refused: ${error.errors.join('; ')}`)
      process.exitCode = EXIT.refused
    }
  }
  say(`${done} of ${calls.length} written.`)
}

function serverFor(actAs: string | null, { url, key }: TakingOver): Server {
  return serverOf({
    ...(url === undefined ? {} : { url }),
    ...(key === undefined ? {} : { key }),
    ...(actAs === null ? {} : { as: actAs }),
  })
}

type Named = (name: string, input: object, options?: object) => Promise<unknown>

async function send({ client }: Server, { operation, input, idempotencyKey, paused }: Call) {
  const call = client.call as unknown as Named
  const made = (await call(operation, input, { idempotencyKey })) as { work?: { id: string } }
  if (paused && made.work !== undefined)
    await call('update_work', { id: made.work.id, is_active: false })
}
