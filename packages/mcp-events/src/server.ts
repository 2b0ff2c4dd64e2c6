/** Calls another MCP server: checked addresses, no redirects, limits on time and bytes, both generations of the protocol. */
import { lookup } from 'node:dns'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Agent, fetch as call } from 'undici'
import { z } from 'zod'
import { callError, callRefusal, checkedLookup } from '../../../src/core/calls/address.ts'
import { SourceError } from '../../../src/features/intents/source.ts'
import type { Wanted } from './settings.ts'

const CONNECT_TIMEOUT_MS = 10_000
const TIMEOUT_MS = 30_000
const ANSWER_MAX_BYTES = 2 * 1024 * 1024
const METHOD_NOT_FOUND = -32_601

export class McpServers {
  readonly #allowPrivate: boolean
  readonly #agent: Agent

  constructor(allowPrivate: boolean) {
    this.#allowPrivate = allowPrivate
    this.#agent = new Agent({
      connect: { timeout: CONNECT_TIMEOUT_MS, lookup: checkedLookup(allowPrivate, lookup) },
    })
  }

  /** One connection; errors do not contain the URL, which may hold a key. */
  async talk<T>(
    { url, token }: Wanted,
    signal: AbortSignal,
    work: (ask: Ask) => Promise<T>,
  ): Promise<T> {
    const refusal = callRefusal(url, this.#allowPrivate)
    if (refusal !== null) throw new SourceError(`not called: ${refusal}`)
    const until = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      fetch: (to, init) => this.#fetch(to, init, until),
    })
    const client = new Client(
      { name: 'wakeful', version: '1' },
      { versionNegotiation: { mode: 'auto' } },
    )
    try {
      await client.connect(transport)
      return await work(async (method, params, shape) => {
        const answer = await client.request({ method, params } as never, z.looseObject({}), {
          signal: until,
        })
        const read = shape.safeParse(answer)
        if (!read.success)
          throw new SourceError(
            `its answer to ${method} has another shape than the draft of MCP Events says`,
          )
        return read.data
      })
    } catch (error) {
      if (error instanceof SourceError) throw error
      if ((error as { code?: unknown }).code === METHOD_NOT_FOUND)
        throw new SourceError('this server has no events')
      throw new SourceError(`the server could not be asked: ${callError(error)}`)
    } finally {
      await client.close()
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async #fetch(
    to: string | URL,
    init: RequestInit | undefined,
    until: AbortSignal,
  ): Promise<Response> {
    const signal = init?.signal == null ? until : AbortSignal.any([init.signal, until])
    const options = { ...init, signal, redirect: 'error', dispatcher: this.#agent }
    const answer = await call(to, options as never)
    const body = answer.body === null ? null : bounded(answer.body as ReadableStream<Uint8Array>)
    return new Response(body, {
      status: answer.status,
      headers: [...answer.headers] as [string, string][],
    })
  }
}

export type Ask = <S extends z.ZodType>(
  method: string,
  params: object,
  shape: S,
) => Promise<z.output<S>>

function bounded(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  let bytes = 0
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length
        if (bytes > ANSWER_MAX_BYTES) controller.error(new SourceError('its answer is too large'))
        else controller.enqueue(chunk)
      },
    }),
  )
}
