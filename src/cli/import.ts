/** `wakeful import <file> --as <shape>`: rows of other systems' tables. Says what it would do; does it with --write. */
import { readFileSync } from 'node:fs'
import { Command, Option } from 'commander'
import { WakefulError } from '../client.ts'
import { wallClock } from '../clock.ts'
import { EXIT, UsageError } from './exit.ts'
import { type Call, type Read, readRow, SHAPES, type Shape } from './import-rows.ts'
import { away, DEFAULT_URL, type Server, serverOf } from './server.ts'
import { plain } from './text.ts'

const STDIN = 0
const TOLD_MAX = 100

interface Flags {
  readonly as: Shape
  readonly agent?: string
  readonly write?: boolean
  readonly url?: string
  readonly key?: string
}

export function importCommand(): Command {
  return new Command('import')
    .description('take over alarms, intents and work from rows of another system, JSON lines')
    .argument('<file>', 'one JSON object on each line; - reads standard input')
    .addOption(
      new Option('--as <shape>', 'what the rows are').choices(SHAPES).makeOptionMandatory(),
    )
    .option('--agent <id>', 'the agent that alarms and intents wake')
    .option('--write', 'do it; without this, only say what would be done')
    .option('--url <url>', `the server (or WAKEFUL_URL; ${DEFAULT_URL} unless said)`)
    .option('--key <key>', 'your key, of an admin or a service (or WAKEFUL_KEY)')
    .action(run)
}

interface Line {
  readonly number: number
  readonly read: Read
}

async function run(file: string, flags: Flags): Promise<void> {
  const importing = { now: new Date(wallClock()), agent: flags.agent ?? null }
  const lines = linesOf(file).map(
    ({ number, text }): Line => ({ number, read: readRow(flags.as, text, importing) }),
  )
  const calls = lines.flatMap(({ number, read }) =>
    'call' in read ? [{ number, call: read.call }] : [],
  )
  const wrong = lines.filter(({ read }) => 'wrong' in read).length
  tell(lines.flatMap(({ number, read }) => toldOf(number, read, flags.write === true)))
  const left = lines.length - calls.length - wrong
  say(`${lines.length} rows: ${calls.length} can be taken over, ${left} left out, ${wrong} wrong.`)
  if (wrong > 0) process.exitCode = EXIT.refused
  if (flags.write !== true) return say('Nothing was written: --write does it.')
  if (wrong > 0) return say('Nothing was written: mend what is wrong, or take it out, first.')
  await write(calls, flags)
}

function linesOf(file: string): { number: number; text: string }[] {
  const text = readText(file)
  return text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map((line, index) => ({ number: index + 1, text: line.trim() }))
    .filter((line) => line.text !== '')
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? STDIN : file, 'utf8')
  } catch (error) {
    throw new UsageError(`the file cannot be read: ${(error as Error).message}`)
  }
}

function toldOf(number: number, read: Read, writes: boolean): string[] {
  if ('wrong' in read) return [`line ${number}: wrong: ${read.wrong.join('; ')}`]
  if ('leftOut' in read) return [`line ${number}: left out: ${read.leftOut}`]
  const { operation, title, paused } = read.call
  const whose = read.call.actAs ?? read.call.input.user_id ?? 'the key’s owner'
  return writes
    ? []
    : [
        `line ${number}: ${operation} “${title.slice(0, 60)}” for ${whose}${paused ? ', paused' : ''}`,
      ]
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
  calls: readonly { number: number; call: Call }[],
  flags: Flags,
): Promise<void> {
  const servers = new Map<string, Server>()
  let done = 0
  for (const { number, call } of calls) {
    const owner = call.actAs ?? ''
    const server = servers.get(owner) ?? serverFor(call.actAs, flags)
    servers.set(owner, server)
    try {
      await send(server, call)
      done++
    } catch (error) {
      const isRefusal = error instanceof WakefulError && error.status >= 400 && error.status < 500
      if (!isRefusal) throw away(error, server.url)
      say(`line ${number}: refused: ${error.errors.join('; ')}`)
      process.exitCode = EXIT.refused
    }
  }
  say(`${done} of ${calls.length} written.`)
}

function serverFor(actAs: string | null, { url, key }: Flags): Server {
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
