/** Makes commands of the rows of the command table, and carries them out on a running server. */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { Refusal } from '../../../src/core/errors.ts'
import { withDefaultAgent } from '../../../src/features/intents/default-agent.ts'
import { WakefulError } from '../../client/src/index.ts'
import { ROUTES } from '../../client/src/routes.ts'
import { JsonError, type RawJson, readJson } from '../../exact-json/src/index.ts'
import { UsageError } from './exit.ts'
import { followOutput, WAIT_MAX_SECONDS } from './progress.ts'
import { type Field, type Row, valueAt } from './row.ts'
import { RESOURCES } from './rows.ts'
import { type Screen, screen } from './screen.ts'
import { type Server, type ServerFlags, serverOf, withServer } from './server.ts'
import type { Item } from './table.ts'
import { plain } from './text.ts'

/** Fields that the server keeps digit for digit, so this side must not read them either. */
const OPAQUE: ReadonlySet<string> = new Set(['payload', 'parameters', 'metadata'])
const STDIN = 0

/** Without the rows whose operations the server's table does not have. */
export function resourceCommands(): Command[] {
  return RESOURCES.flatMap(({ name, about, rows }) => {
    const known = rows.filter(({ operation }) => operation in ROUTES)
    if (known.length === 0) return []
    const command = new Command(name).description(about)
    for (const row of known) command.addCommand(rowCommand(row))
    return [command]
  })
}

interface Flags extends ServerFlags {
  readonly data?: string
  readonly all?: boolean
  readonly wait?: boolean
  readonly [name: string]: unknown
}

function rowCommand(row: Row): Command {
  const command = withServer(new Command(row.verb).description(row.about))
  for (const arg of row.args ?? []) command.argument(arg)
  for (const { flag, kind, about } of row.fields ?? [])
    command.option(kind === 'flag' ? `--${flag}` : `--${flag} <${kind}>`, about)
  if (row.verb === 'create')
    command.option('--data <json>', 'all fields as one JSON object; @file reads it, - from stdin')
  if (row.columns !== undefined && (row.fields ?? []).some(({ name }) => name === 'cursor'))
    command.option('--all', 'every page')
  if (row.waits) command.option('--wait', 'until the run has ended, showing its progress')
  return command.action(async (...given: unknown[]) => {
    const flags = command.opts<Flags>()
    const input = inputOf(row, given, flags)
    await carryOut(row, input, flags).catch((error: unknown) => {
      throw inFlags(error, row)
    })
  })
}

function inputOf(row: Row, given: readonly unknown[], flags: Flags): Item {
  const positional = (row.args ?? []).flatMap((arg, at) =>
    given[at] === undefined ? [] : [[arg.replace(/[<>[\].]/g, ''), given[at]]],
  )
  const fields = (row.fields ?? []).flatMap((field) => {
    const value = flagValue(field, flags)
    return value === undefined ? [] : [[field.name, value]]
  })
  const input = {
    ...(row.verb !== 'create' || flags.data === undefined ? {} : dataOf(flags.data)),
    ...Object.fromEntries(positional),
    ...Object.fromEntries(fields),
    ...row.fixed,
  }
  return row.complete?.(input) ?? input
}

/** Commander's own name for a flag, and `--no-x`, which it keeps as `x: false`. */
function flagValue({ flag, kind }: Field, flags: Flags): unknown {
  const negated = flag.startsWith('no-')
  const key = (negated ? flag.slice('no-'.length) : flag).replace(/-(\w)/g, (_, letter: string) =>
    letter.toUpperCase(),
  )
  const value = flags[key]
  if (negated) return value === false ? false : undefined
  if (value === undefined || kind === 'flag' || kind === 'text') return value
  return kind === 'number' ? numberOf(flag, String(value)) : jsonOf(`--${flag}`, String(value))
}

function numberOf(flag: string, value: string): number {
  if (/^-?\d{1,15}(\.\d{1,6})?$/.test(value)) return Number(value)
  throw new UsageError(`--${flag}: takes a number, got ${JSON.stringify(value.slice(0, 80))}`)
}

function jsonOf(where: string, value: string): unknown {
  const { value: raw } = readText(where, `{"value":${value}}`, new Set(['value'])) as {
    value: RawJson
  }
  return raw
}

function dataOf(given: string): Item {
  const source = given === '-' ? STDIN : given.startsWith('@') ? given.slice(1) : null
  const value = readText('--data', source === null ? given : readSource(source), OPAQUE)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Item
  throw new UsageError('--data: takes a JSON object')
}

function readSource(source: string | number): string {
  try {
    return readFileSync(source, 'utf8')
  } catch (error) {
    throw new UsageError(`--data: cannot be read: ${(error as Error).message}`)
  }
}

function readText(where: string, value: string, opaque: ReadonlySet<string>): unknown {
  try {
    return readJson(value, opaque)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new UsageError(`${where}: takes JSON: ${error.message}`)
  }
}

/** The server names fields; the command line calls them flags. */
function inFlags(error: unknown, row: Row): unknown {
  if (!(error instanceof WakefulError)) return error
  const { status, title, requestId } = error
  const errors = error.errors.map((each) =>
    each.replace(/^(?:body|query)\.(\w+)(?=[:.[])/, (whole, name: string) => {
      const field = row.fields?.find((known) => known.name === name)
      if (field !== undefined) return `--${field.flag}`
      return row.args?.find((arg) => arg.slice(1, -1) === name) ?? whole
    }),
  )
  return new WakefulError(status, title, errors, { requestId })
}

async function carryOut(row: Row, input: Item, flags: Flags): Promise<void> {
  const server = serverOf(flags)
  const out = screen()
  const answer = await (flags.all
    ? everything(server, row, input)
    : server.call(row.operation, await withAgent(server, row, input)))
  if (row.waits && flags.wait) return wait(server, out, row, answer as Item, flags)
  if (flags.json) {
    // As the server wrote it, digit for digit; what answers nothing is null.
    out.write(flags.all ? `${JSON.stringify(answer)}\n` : `${server.answered().trim() || 'null'}\n`)
  } else if (row.columns !== undefined) showList(out, row, answer)
  else showItem(out, row, answer, input)
}

async function withAgent(server: Server, { operation }: Row, input: Item): Promise<Item> {
  const agents = async () =>
    ((await server.call('get_capabilities', {})) as { agents: string[] }).agents
  return withDefaultAgent(operation, input, agents).catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error
    throw new UsageError(error.errors.join('; ').replace('agent_id:', '--agent:'))
  })
}

async function everything(server: Server, row: Row, input: Item) {
  const data: unknown[] = []
  let cursor: unknown = input.cursor
  do {
    const page = (await server.call(row.operation, { ...input, cursor })) as {
      data: unknown[]
      next_cursor: string | null
    }
    data.push(...page.data)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return { data, next_cursor: null }
}

function showItem(out: Screen, row: Row, answer: unknown, given: Item): void {
  const whole = (answer ?? {}) as Item
  const isRead = ROUTES[row.operation]?.startsWith('GET')
  if (!isRead || Array.isArray(whole.words)) {
    out.write(`${wordsOf(row, whole, given)}\n`)
    return
  }
  const item = row.at === undefined ? whole : ((whole[row.at] ?? whole) as Item)
  const { [row.below?.at ?? '']: below, words: _, ...fields } = item
  out.fields(fields)
  const list = (row.at === undefined ? below : whole[row.below?.at ?? '']) as Item[] | undefined
  if (row.below === undefined || list === undefined || list.length === 0) return
  out.write(`\n${out.paint('bold', row.below.at)}\n`)
  out.table(row.below.columns, list)
}

/** What the server says it did; beside it the id and the notes, unless they are in its words. */
function wordsOf(row: Row, answer: Item, given: Item): string {
  const { words, notes, id, user_id } = answer
  const field = (_: string, name: string) => String(valueAt({ ...given, ...answer }, name))
  const said = Array.isArray(words)
    ? [`${user_id}:`, ...words.map((each) => `  ${each}`)]
    : [String(words ?? (row.done ?? 'done').replaceAll(/\$([\w.]+)/g, field))]
  const more = [...(Array.isArray(notes) ? notes.map(String) : []), ...(id ? [`id ${id}`] : [])]
  const rest = more.filter((each) => !said.join().includes(each.replace('id ', '')))
  return plain([...said, ...rest.map((each) => `  (${each})`)].join('\n'), 'lines')
}

function showList(out: Screen, row: Row, answer: unknown): void {
  const page = Array.isArray(answer)
    ? { data: answer as Item[], next_cursor: null }
    : (answer as { data: Item[]; next_cursor: string | null })
  if (page.data.length === 0) out.note(row.none ?? 'nothing')
  else out.table(row.columns ?? [], page.data)
  if (page.next_cursor !== null) out.note(`there are more: --all, or --cursor ${page.next_cursor}`)
}

async function wait(
  server: Server,
  out: Screen,
  row: Row,
  answer: Item,
  flags: Flags,
): Promise<void> {
  const output = answer.output as Item | undefined
  if (output === undefined) {
    out.note('nothing runs now')
    if (flags.json) out.json(answer)
    return
  }
  if (!flags.json) out.note(wordsOf(row, answer, {}))
  const ended = await followOutput({
    read: () =>
      server.call('get_work_output', {
        id: output.work_id,
        run_number: output.run_number,
      }) as Promise<Item>,
    terminal: process.stderr.isTTY === true && !flags.json ? process.stderr : null,
    secondsMax: WAIT_MAX_SECONDS,
  })
  if (flags.json) out.write(`${server.answered().trim()}\n`)
  else out.fields(ended)
  if (ended.status === 'failed') process.exitCode = 1
}
