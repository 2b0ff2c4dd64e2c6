/** The running server that a command talks to: where it is, who asks, and what to say when it is not there. */
import type { Command } from 'commander'
import { environment, readRemote } from '../../../src/config.ts'
import { createClient, type WakefulClient, WakefulError } from '../../client/src/index.ts'
import { headersOf } from '../../client/src/transport.ts'
import { writeJson } from '../../exact-json/src/index.ts'
import { AwayError, UsageError } from './exit.ts'

export const DEFAULT_URL = 'http://127.0.0.1:8787'

export interface ServerFlags {
  readonly url?: string
  readonly key?: string
  readonly as?: string
  readonly json?: boolean
}

/** The flags that every command with a server has. */
export function withServer(command: Command): Command {
  return command
    .option('--url <url>', `the server (or WAKEFUL_URL; ${DEFAULT_URL} by default)`)
    .option('--key <key>', 'your key (or WAKEFUL_KEY, which others on this machine do not see)')
    .option('--as <owner>', 'act for this user id or DID (or WAKEFUL_ACT_AS)')
    .option('--json', 'for programs: the answer as one JSON value')
}

type AnyCall = (name: string, input: object) => Promise<unknown>

export interface Server {
  readonly url: string
  /** That say who asks; for a socket of our own. */
  readonly headers: Readonly<Record<string, string>>
  readonly client: WakefulClient
  /** By name, where the types do not know it. */
  readonly call: AnyCall
  /** The text of the last answer, digit for digit. */
  answered(): string
}

/** `preset` is asked where neither a flag nor a variable names a server. */
export function serverOf(flags: ServerFlags, preset = DEFAULT_URL): Server {
  const remote = readRemote(environment())
  const url = urlOf(flags.url ?? remote.url ?? preset)
  const key = flags.key ?? remote.key
  const actAs = flags.as ?? remote.actAs
  let last = ''
  const who = {
    baseUrl: url,
    ...(key === null ? {} : { key }),
    ...(actAs === null ? {} : { actAs }),
  }
  const client = createClient({
    ...who,
    parse: (text) => {
      last = text
      return JSON.parse(text) as unknown
    },
    stringify: writeJson,
    // People wait at a prompt: better to hear soon that nobody is there.
    retries: 1,
  })
  const byName = client.call as unknown as AnyCall
  return {
    url,
    headers: headersOf(who),
    client,
    call: async (name, input) => {
      last = ''
      try {
        return await byName(name, input)
      } catch (error) {
        throw away(error, url)
      }
    },
    answered: () => last,
  }
}

function urlOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '')
    throw new UsageError('--url takes an http:// or https:// URL, without a name or password in it')
  return text
}

/** What to do when nobody answers; any other error as it is. */
export function away(error: unknown, url: string): unknown {
  if (!(error instanceof WakefulError) || error.status !== 0) return error
  const reason = error.errors[0] ?? error.title
  return new AwayError(
    `no server answers at ${url} (${reason}): start one with "wakeful serve", or say where it is with --url or WAKEFUL_URL`,
  )
}
