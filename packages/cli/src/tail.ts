/** `wakeful tail`: the live log of slots in words, from a running server. */
import { setTimeout as wait } from 'node:timers/promises'
import { Command } from 'commander'
import type { Door } from '../../../src/api/callers/caller.ts'
import { operations } from '../../../src/app/operations.ts'
import { wallClock } from '../../../src/clock.ts'
import { environment, readRemote } from '../../../src/config.ts'
import { Refusal } from '../../../src/core/errors.ts'
import type { Outcome } from '../../../src/features/ledger/rules.ts'
import { remoteDoor } from '../../mcp-stdio/src/remote.ts'
import { formatLocal } from '../../schedule/src/index.ts'
import { DEFAULT_URL, type ServerFlags, withServer } from './server.ts'

const POLL_MS = 500
/** How far back a look goes for what has changed; more than one page only while nothing on it is known. */
const LIMIT = 100
const PAGES_MAX = 10
const KNOWN_MAX = 10_000
const FIRST = 10

export interface TailOptions {
  readonly user?: string
  readonly session?: string
  readonly json?: boolean
  /** How many of those that are over to begin with. */
  readonly last?: string
}

/** What is read of an entry of the ledger. */
export interface TailEntry {
  readonly id: string
  readonly trigger: { readonly kind: string; readonly name: string }
  readonly user_id: string
  readonly at: string
  readonly ended_at: string | null
  readonly outcome: Outcome
  readonly attempts: number
  readonly words: string
}

export function tailCommand(): Command {
  return withServer(
    new Command('tail')
      .description('the live log: what came due, and what became of it')
      .option('--user <id>', 'only this user')
      .option('--session <key>', 'only this session, user:agent:thread')
      .option('--last <n>', 'how many to begin with', String(FIRST)),
  ).action(async (options: TailOptions & ServerFlags) => {
    const remote = readRemote(environment())
    const key = options.key ?? remote.key
    const actAs = options.as ?? remote.actAs
    const door = remoteDoor({
      baseUrl: options.url ?? remote.url ?? DEFAULT_URL,
      ...(key === null ? {} : { key }),
      ...(actAs === null ? {} : { actAs }),
      now: wallClock,
    })
    const stop = new AbortController()
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())
    const out = (line: string) => process.stdout.write(`${line}\n`)
    const say = (line: string) => process.stderr.write(`wakeful tail: ${line}\n`)
    const colours = process.stdout.isTTY === true
    await tail(options, { door, out, say, colours, signal: stop.signal })
  })
}

export interface TailDoors {
  readonly door: Door
  readonly out: (line: string) => void
  readonly say: (line: string) => void
  readonly colours: boolean
  readonly signal: AbortSignal
}

/** Until it is told to stop. A server that is away is waited for; a request that is wrong ends it. */
export async function tail(options: TailOptions, doors: TailDoors): Promise<void> {
  const { signal } = doors
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const shown = new Shown(lastOf(options))
  let away = false
  while (!signal.aborted) {
    try {
      for (const entry of await shown.look((cursor) => page(doors, options, zone, cursor)))
        doors.out(options.json ? JSON.stringify(entry) : lineOf(entry, zone, doors.colours))
      if (away) doors.say('the server is back')
      away = false
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof Refusal) || !PASSING.has(error.code)) throw error
      if (!away) doors.say(`${error.message}; waiting for it`)
      away = true
    }
    await wait(POLL_MS, undefined, { signal }).catch((error: Error) => {
      if (error.name !== 'AbortError') throw error
    })
  }
}

/** What time may mend. */
const PASSING: ReadonlySet<string> = new Set(['unavailable', 'internal', 'rate_limited'])

function lastOf({ last }: TailOptions): number {
  const number = Number(last ?? FIRST)
  if (Number.isInteger(number) && number >= 0 && number <= LIMIT) return number
  throw new Error(`--last takes a whole number from 0 to ${LIMIT}`)
}

interface Page {
  readonly data: readonly TailEntry[]
  readonly next_cursor: string | null
}

async function page(
  { door, signal }: TailDoors,
  { user, session }: TailOptions,
  timezone: string,
  cursor: string | null,
): Promise<Page> {
  const op = operations.find(({ name }) => name === 'get_ledger')
  if (op === undefined) throw new Error('the operation get_ledger is missing')
  const args = {
    ...{ limit: LIMIT, timezone },
    ...(user === undefined ? {} : { user_id: user }),
    ...(session === undefined ? {} : { session_key: session }),
    ...(cursor === null ? {} : { cursor }),
  }
  return JSON.parse((await door.call(op, args, signal)) ?? '{}') as Page
}

/** What has been shown, so that an entry comes again only when it has changed. */
export class Shown {
  readonly #known = new Map<string, string>()
  readonly #first: number
  #begun = false

  constructor(first: number) {
    this.#first = first
  }

  /** What is new, oldest first. */
  async look(read: (cursor: string | null) => Promise<Page>): Promise<TailEntry[]> {
    const fresh: TailEntry[] = []
    let cursor: string | null = null
    for (let pages = 0; pages < PAGES_MAX; pages++) {
      const { data, next_cursor }: Page = await read(cursor)
      const anyKnown = data.some(({ id }) => this.#known.has(id))
      fresh.push(...data.filter((entry) => this.#known.get(entry.id) !== stateOf(entry)))
      cursor = next_cursor
      if (cursor === null || anyKnown || !this.#begun) break
    }
    for (const entry of fresh) this.#remember(entry)
    const told = this.#begun ? fresh : fresh.slice(0, this.#first)
    this.#begun = true
    return told.toReversed()
  }

  #remember(entry: TailEntry): void {
    this.#known.delete(entry.id)
    this.#known.set(entry.id, stateOf(entry))
    for (const id of this.#known.keys()) {
      if (this.#known.size <= KNOWN_MAX) break
      this.#known.delete(id)
    }
  }
}

function stateOf({ outcome, attempts }: TailEntry): string {
  return `${outcome} ${attempts}`
}

const GREEN = 32
const YELLOW = 33
const RED = 31
const DIM = 2
const COLOURS: Readonly<Record<Outcome, number>> = {
  delivered: GREEN,
  sent: GREEN,
  silent: DIM,
  suppressed: YELLOW,
  deferred: YELLOW,
  missed: DIM,
  condition_false: DIM,
  postponed: YELLOW,
  expired: DIM,
  failed: RED,
  cancelled: DIM,
  pending: YELLOW,
}
const OUTCOME_WIDTH = 15

/** `21:04:07 delivered       alarm "stretch" of ann: Delivered at 21:04:07.` */
export function lineOf(entry: TailEntry, zone: string, colours: boolean): string {
  const { trigger, outcome, user_id: user } = entry
  const [, time = ''] = formatLocal(Date.parse(entry.ended_at ?? entry.at), zone).split(' ')
  const clock = time.length === 5 ? `${time}:00` : time
  const padded = outcome.padEnd(OUTCOME_WIDTH)
  const shown = colours ? `\u001b[${COLOURS[outcome] ?? 0}m${padded}\u001b[0m` : padded
  const name = trigger.name === '' ? '' : ` ${JSON.stringify(trigger.name)}`
  return `${clock} ${shown} ${trigger.kind}${name} of ${user}: ${printable(entry.words)}`
}

/** What comes from outside must not steer the terminal. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ')
}
