/** The door of a server elsewhere: operations over its HTTP API, with its checks and its errors. */

import { type Door, pathOf } from '../../../src/api/callers/caller.ts'
import { type Arguments, flatRefusal, splitArguments } from '../../../src/api/callers/flat.ts'
import type { Operation, RawInput } from '../../../src/api/contract.ts'
import { getCapabilities } from '../../../src/api/schedules.ts'
import { ERRORS, type ErrorCode, Refusal } from '../../../src/core/errors.ts'
import { withDefaultAgent } from '../../../src/features/intents/default-agent.ts'
import { writeJson } from '../../exact-json/src/index.ts'

/** Longer than any operation may wait for its answer. */
const TIMEOUT_MS = 90_000

export interface RemoteOptions {
  /** Such as `http://127.0.0.1:8787`. */
  readonly baseUrl: string
  readonly key?: string
  /** The owner to act for, where the key may. */
  readonly actAs?: string
  readonly fetch?: typeof fetch
  readonly now: () => number
}

export function remoteDoor(options: RemoteOptions): Door {
  const base = options.baseUrl.replace(/\/+$/, '')
  const headers: Record<string, string> = {
    ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
    ...(options.actAs === undefined ? {} : { 'wakeful-act-as': options.actAs }),
  }
  const send = options.fetch ?? fetch
  const door: Door = {
    // The server knows; this side does not.
    role: null,
    keyId: null,
    now: options.now,
    async call(op, args, signal) {
      const whole = await withDefaultAgent(op.name, args, async () => {
        const json = await door.call(getCapabilities, {}, signal)
        return (JSON.parse(json ?? '{}') as { agents: string[] }).agents
      })
      const { url, init } = requestOf(op, whole, base, headers)
      const timeout = AbortSignal.timeout(TIMEOUT_MS)
      const until = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
      const answer = await send(url, { ...init, signal: until, redirect: 'error' }).catch(
        (error: unknown) => {
          throw away(base, error)
        },
      )
      const text = await answer.text().catch((error: unknown) => {
        throw away(base, error)
      })
      if (!answer.ok) throw flatRefusal(problemOf(answer, text))
      return text === '' ? null : text
    },
  }
  return door
}

function requestOf(
  op: Operation,
  args: Arguments,
  base: string,
  headers: Readonly<Record<string, string>>,
): { url: string; init: RequestInit } {
  const { raw, key } = splitArguments(op, args)
  const errors = unsendable(op, raw, key)
  if (errors.length > 0) throw new Refusal('shape', errors)
  const pairs = Object.entries(raw.query as object)
  const query = new URLSearchParams(
    Object.fromEntries(pairs.map(([name, value]) => [name, textOf(value)])),
  ).toString()
  return {
    url: `${base}${pathOf(op, raw)}${query === '' ? '' : `?${query}`}`,
    init: {
      method: op.method,
      headers: {
        ...headers,
        ...(key === undefined ? {} : { 'idempotency-key': key as string }),
        ...(raw.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(raw.body === undefined ? {} : { body: writeJson(raw.body) }),
    },
  }
}

/** What has no place in a request, or would make it another one. The rest is the server's to check. */
function unsendable(op: Operation, raw: RawInput, key: unknown): string[] {
  const errors: string[] = []
  for (const [, name = ''] of op.path.matchAll(/\{(\w+)\}/g)) {
    const value = textOf((raw.params as Record<string, unknown>)[name])
    if (value === '') errors.push(`${name}: is required`)
    // A dot as a step of a path means another path.
    else if (/^\.{1,2}$/.test(value)) throw new Refusal('not_found', 'no such id')
  }
  if (op.body === undefined) {
    for (const name of Object.keys((raw.body ?? {}) as object)) {
      errors.push(`${name.slice(0, 64)}: is not a known field`)
    }
  }
  if (key !== undefined && !(typeof key === 'string' && /^[\x21-\x7e]+$/.test(key))) {
    errors.push('idempotency_key: takes 2 to 255 visible ASCII characters')
  }
  return errors
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : writeJson(value)
}

function away(base: string, cause: unknown): Refusal {
  return new Refusal(
    'unavailable',
    `the Wakeful server at ${base} did not answer; is it running there?`,
    { cause },
  )
}

/** The refusal that the server's problem was made from. */
function problemOf(answer: Response, text: string): Refusal {
  const { type, errors, title } = readProblem(text)
  const named = /#error-(\w+)$/.exec(type ?? '')?.[1]
  const code = (named !== undefined && named in ERRORS ? named : codeOf(answer.status)) as ErrorCode
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN)
  const said = errors !== undefined && errors.length > 0 ? errors : [title ?? answer.statusText]
  return new Refusal(code, said, Number.isFinite(seconds) ? { retryAfterMs: seconds * 1000 } : {})
}

function readProblem(text: string): { type?: string; title?: string; errors?: string[] } {
  try {
    const read = JSON.parse(text) as { type?: string; title?: string; errors?: string[] } | null
    return read ?? {}
  } catch {
    // Not our server's words: a proxy's page, perhaps. Its status says enough.
    return {}
  }
}

function codeOf(status: number): ErrorCode {
  const found = Object.entries(ERRORS).find(([, row]) => row.status === status)?.[0]
  return (found as ErrorCode | undefined) ?? (status < 500 ? 'malformed' : 'internal')
}
