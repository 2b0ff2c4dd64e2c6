/**
 * MCP over standard input and output: one JSON-RPC message a line. Standard output carries the protocol and nothing
 * else. A line that is too long or no JSON is answered as such, and the next one is read.
 */
import type { Readable, Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Door } from '../../../src/api/callers/caller.ts'
import {
  type McpOptions,
  MESSAGE_BYTES_MAX,
  mcpServer,
  readMessage,
  type ToolSet,
} from '../../../src/mcp/server.ts'
import { opaqueNames } from '../../../src/mcp/tool.ts'
import { JsonError } from '../../exact-json/src/index.ts'

const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600

export interface StdioOptions extends McpOptions {
  readonly door: Door
  /** Which tools the client is shown. */
  readonly set?: ToolSet
  readonly input: Readable
  readonly output: Writable
  readonly onError: (error: Error) => void
}

/** Serves until the client closes its end or `close` is called; `done` resolves then. */
export function serveMcp(options: StdioOptions): { done: Promise<void>; close(): Promise<void> } {
  const lines = new Lines(options.input, options.output, opaqueNames(options.tools))
  const handle = serveStdio(() => mcpServer(options, options.door, options.set ?? 'default'), {
    transport: lines,
    onerror: options.onError,
    maxSubscriptions: 0,
  })
  return { done: lines.done, close: () => handle.close() }
}

class Lines implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly done: Promise<void>
  readonly #input: Readable
  readonly #output: Writable
  readonly #opaque: ReadonlySet<string>
  readonly #decoder = new StringDecoder('utf8')
  #begun = ''
  /** The line being read is too long: dropped up to its end. */
  #dropping = false
  #closed = false
  #end: () => void = () => undefined

  constructor(input: Readable, output: Writable, opaque: ReadonlySet<string>) {
    this.#input = input
    this.#output = output
    this.#opaque = opaque
    this.done = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#onData)
    this.#input.on('end', this.#onEnd)
    this.#input.on('close', this.#onEnd)
    this.#input.on('error', this.#onTrouble)
    this.#output.on('error', this.#onTrouble)
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#output.write(`${JSON.stringify(message)}\n`, (error) =>
        error ? reject(error) : resolve(),
      )
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#input.off('data', this.#onData)
    this.#input.pause()
    this.onclose?.()
    this.#end()
  }

  readonly #onEnd = () => void this.close()

  /** The client is gone, or as good as gone. */
  readonly #onTrouble = (error: Error) => {
    if (!this.#closed) this.onerror?.(error)
    void this.close()
  }

  readonly #onData = (chunk: Buffer) => {
    const [first = '', ...rest] = this.#decoder.write(chunk).split('\n')
    this.#take(first)
    for (const part of rest) {
      this.#endLine()
      this.#take(part)
    }
  }

  #take(part: string): void {
    if (this.#dropping) return
    this.#begun += part
    if (this.#begun.length <= MESSAGE_BYTES_MAX) return
    this.#dropping = true
    this.#begun = ''
    this.#refuse(INVALID_REQUEST, `a message may have at most ${MESSAGE_BYTES_MAX} bytes`)
  }

  #endLine(): void {
    const line = this.#begun.trim()
    this.#begun = ''
    const dropped = this.#dropping
    this.#dropping = false
    if (dropped || line === '') return
    try {
      const message = readMessage(line, this.#opaque)
      if (isMessage(message)) this.onmessage?.(message)
      else this.#refuse(INVALID_REQUEST, 'send one JSON-RPC 2.0 message a line')
    } catch (error) {
      if (!(error instanceof JsonError)) throw error
      this.#refuse(PARSE_ERROR, error.message)
    }
  }

  #refuse(code: number, message: string): void {
    const answer = { jsonrpc: '2.0', id: null, error: { code, message } }
    this.send(answer as unknown as JSONRPCMessage).catch(this.#onTrouble)
  }
}

/** The rest is checked behind us; what is no object at all would not get that far. */
function isMessage(value: unknown): value is JSONRPCMessage {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as { jsonrpc?: unknown }).jsonrpc === '2.0'
  )
}
