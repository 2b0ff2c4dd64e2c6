/** `wakeful import langgraph --from <url>`: the crons of a LangGraph server. Says what it would do; does it with --write. */
import { Command } from 'commander'
import { prepare } from '../../../src/api/contract.ts'
import { wallClock } from '../../../src/clock.ts'
import { Refusal } from '../../../src/core/errors.ts'
import { isUuid } from '../../../src/core/ids.ts'
import { KEY_PART, LOCAL_USER, ownerDidOf } from '../../../src/core/session.ts'
import { parseRaw, RawJson, readJson, readLevel } from '../../exact-json/src/index.ts'
import { type CronChange, newCron } from '../../langgraph/src/crons/cron.ts'
import { AwayError, UsageError } from './exit.ts'
import { ADMIN, operationOf, type Read } from './import-rows.ts'
import { type Found, type TakingOver, takeOver, withTakingOver } from './take-over.ts'

const PAGE = 100
/** What is asked of a run there and makes no difference here. */
const WITHOUT_LOSS = [
  'stream_mode',
  'stream_subgraphs',
  'stream_resumable',
  'checkpoint_during',
  'durability',
  'on_run_completed',
]
const RUN = ['input', 'config', 'context']
/** What is not kept here, and is said so. */
const FOREIGN = ['webhook', 'interrupt_before', 'interrupt_after', 'multitask_strategy']

type Fields = Readonly<Record<string, unknown>>

interface Flags extends TakingOver {
  readonly from: string
  readonly fromKey?: string
  readonly agent?: string
}

export function importLanggraphCommand(): Command {
  const command = new Command('langgraph')
    .description('take over the crons of a LangGraph server')
    .requiredOption('--from <url>', 'the LangGraph server')
    .option('--from-key <key>', 'its key, sent as x-api-key')
    .action((flags: Flags, own: Command) => run({ ...own.parent?.opts(), ...flags }))
  return withTakingOver(command)
}

async function run(flags: Flags): Promise<void> {
  const there = new Remote(flags.from, flags.fromKey)
  const now = new Date(wallClock())
  const crons = await there.crons()
  const found: Found[] = []
  for (const text of crons) {
    const cron = cronOf(text)
    const name = `cron ${cron.cron_id ?? found.length + 1}`
    const agent = flags.agent ?? (await there.graphOf(String(cron.assistant_id)))
    found.push({ name, read: readCron(cron, agent, now) })
  }
  await takeOver(found, flags)
}

/** What is opaque stays its text. */
function cronOf(text: string): Fields {
  const members = Object.entries(readLevel(text) as Record<string, RawJson>)
  return Object.fromEntries(
    members.map(([name, raw]) => [name, OPAQUE.has(name) ? raw : parseRaw(raw)]),
  )
}
const OPAQUE: ReadonlySet<string> = new Set(['payload', 'metadata'])

/** What we ask of a LangGraph server. */
class Remote {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #graphs = new Map<string, string | null>()

  constructor(url: string, key: string | undefined) {
    const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    if (!isHttp) throw new UsageError('--from takes an http:// or https:// URL')
    this.#url = url.replace(/\/+$/, '')
    this.#headers = {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'x-api-key': key }),
    }
  }

  /** All of them, each as its original text. */
  async crons(): Promise<string[]> {
    const all: string[] = []
    for (;;) {
      const asked = { limit: PAGE, offset: all.length, sort_by: 'created_at', sort_order: 'asc' }
      const { status, text } = await this.#ask('POST', '/runs/crons/search', asked)
      const page = status === 200 ? readLevel(text) : null
      if (!Array.isArray(page))
        throw new UsageError(`${this.#url} has no crons to read: it answered ${status}`)
      all.push(...page.map((each: RawJson) => each.text))
      if (page.length < PAGE) return all
    }
  }

  /** The graph an assistant runs, which is its agent's name here; null where there is no such assistant. */
  async graphOf(assistant: string): Promise<string | null> {
    if (!isUuid(assistant)) return assistant
    const known = this.#graphs.get(assistant)
    if (known !== undefined) return known
    const { status, text } = await this.#ask('GET', `/assistants/${assistant}`)
    const graph = status === 200 ? String((readJson(text) as Fields).graph_id) : null
    this.#graphs.set(assistant, graph)
    return graph
  }

  async #ask(method: string, path: string, body?: object) {
    try {
      const answer = await fetch(`${this.#url}${path}`, {
        method,
        headers: this.#headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: answer.status, text: await answer.text() }
    } catch (error) {
      const { cause, message } = error as Error
      const why = cause instanceof Error ? cause.message : message
      throw new AwayError(`no server answers at ${this.#url} (${why})`)
    }
  }
}

/** A cron as the call that makes it here. `agent`: who runs; null where the other side does not know. */
export function readCron(cron: Fields, agent: string | null, now: Date): Read {
  try {
    const end = cron.end_time ?? null
    if (end !== null && new Date(String(end)) <= now)
      return { leftOut: `its end has passed (${end})` }
    if (agent === null)
      return {
        wrong: [`assistant_id: there is no assistant ${cron.assistant_id} there; say --agent`],
      }
    const owner = ownerOf(cron)
    const thread = cron.thread_id ?? null
    const { input, dropped } = inputOf(cron, agent)
    const operation = thread === null ? 'create_langgraph_cron' : 'create_langgraph_thread_cron'
    const params = thread === null ? {} : { thread_id: thread }
    const asked = prepare(operationOf(operation), ADMIN, { params, query: {}, body: input })
    const userId = owner ?? LOCAL_USER
    const who = { userId, ownerDid: ownerDidOf(userId), assistantId: agent, threadId: null }
    newCron(who, asked.body as CronChange, now)
    const without = dropped.length === 0 ? '' : `, without ${dropped.join(', ')}`
    return {
      call: {
        operation,
        input: { ...params, ...input },
        actAs: owner,
        idempotencyKey: `import-${cron.cron_id}`.slice(0, 128),
        paused: false,
        title: `${input.schedule} ${agent}${without}`,
      },
    }
  } catch (error) {
    if (error instanceof Refusal) return { wrong: error.errors }
    throw error
  }
}

function ownerOf({ user_id: user }: Fields): string | null {
  if (user === null || user === undefined || user === '') return null
  if (KEY_PART.test(String(user))) return String(user)
  throw new Refusal('shape', `user_id: ${user} is not a valid user id`)
}

function inputOf(cron: Fields, agent: string): { input: Fields; dropped: string[] } {
  const { payload } = cron
  const ran = payload instanceof RawJson ? (readLevel(payload.text) as Fields) : {}
  const isSaid = (value: unknown) =>
    value !== null && (value as RawJson | undefined)?.text !== 'null'
  const said = (from: Fields, names: readonly string[]) =>
    names.flatMap((name) => (name in from && isSaid(from[name]) ? [[name, from[name]]] : []))
  const foreign = said({ ...ran, ...cron }, FOREIGN).map(([name, value]) => [
    name,
    value instanceof RawJson ? parseRaw(value) : value,
  ])
  const given = said(cron, ['schedule', 'timezone', 'end_time', 'enabled', 'metadata'])
  return {
    input: Object.fromEntries([['assistant_id', agent], ...given, ...said(ran, RUN), ...foreign]),
    dropped: WITHOUT_LOSS.filter((name) => isSaid(ran[name] ?? cron[name] ?? null)),
  }
}
