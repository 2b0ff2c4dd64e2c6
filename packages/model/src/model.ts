/**
 * A chat model behind an OpenAI-compatible endpoint, over plain HTTP. Honours `Retry-After`, with limits on time and
 * length. Errors say what to change and never contain the key.
 */
import { Agent, type Dispatcher, request } from 'undici'
import { BodyTooLong, readBody } from '../../../src/core/calls/address.ts'
import { retryAfterOf } from '../../../src/core/calls/signature.ts'
import { errorText, TerminalError } from '../../../src/core/errors.ts'
import { type ModelUsage, tracedModelCall } from './trace.ts'

const TIMEOUT_MS = 180_000
const CONNECT_TIMEOUT_MS = 10_000
const ATTEMPTS_MAX = 4
const RETRY_BASE_MS = 1_000
/** A model that asks for a longer wait fails the run. */
const RETRY_AFTER_MAX_MS = 60_000
const ANSWER_MAX_BYTES = 2 * 1024 * 1024
const QUOTED_MAX = 500
const CALLS_MAX = 16
const CALL_MAX = 64 * 1024

export interface ModelSettings {
  readonly url: string | null
  readonly key: string | null
  readonly name: string | null
}

export interface ModelOptions {
  readonly timeoutMs?: number
  readonly retryBaseMs?: number
  /** The time of day, for a `Retry-After` that names an instant. */
  readonly now: () => Date
}

export interface Message {
  readonly role: 'system' | 'user'
  readonly content: string
}

/** A tool call; `arguments` is the JSON text of the model. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** A tool the model may call; `parameters` is a JSON Schema. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly parameters: object
}

export type ChatMessage =
  | Message
  /** An earlier answer of the model, with its tool calls. */
  | { readonly role: 'assistant'; readonly content: string; readonly calls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly callId: string; readonly content: string }

export interface Asked {
  readonly signal: AbortSignal
  readonly tools?: readonly ToolSpec[]
  /** Called before each retry. */
  readonly onRetry?: (waitMs: number, reason: string) => void
}

export interface ModelAnswer {
  readonly text: string
  readonly model: string
  /** The model stopped at its length limit. */
  readonly cutOff: boolean
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  /** Present if the model calls tools; then the text may be empty. */
  readonly calls?: readonly ToolCall[]
}

export interface ChatModel {
  /** The missing settings; null if complete. */
  readonly missing: string | null
  ask(messages: readonly ChatMessage[], asked: Asked): Promise<ModelAnswer>
  close(): Promise<void>
}

const TAKES = {
  WAKEFUL_MODEL_URL:
    'the base of an OpenAI-compatible endpoint, such as https://api.openai.com/v1 or http://127.0.0.1:11434/v1',
  WAKEFUL_MODEL: 'the name of a model there',
} as const

/** One attempt: the answer, or why not and whether another attempt may help. */
type Attempt = ModelAnswer | { readonly error: string; readonly retryMs: number | null }

export class HttpModel implements ChatModel {
  readonly missing: string | null
  readonly #settings: ModelSettings
  readonly #options: ModelOptions
  readonly #agent = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } })

  constructor(settings: ModelSettings, options: ModelOptions) {
    this.#settings = settings
    this.#options = options
    this.missing = missingText(settings)
  }

  async ask(messages: readonly ChatMessage[], asked: Asked): Promise<ModelAnswer> {
    if (this.missing !== null) throw new TerminalError(this.missing)
    // Named after the protocol, not the vendor.
    const call = { provider: 'openai', model: this.#settings.name ?? '' }
    const body = bodyOf(this.#settings.name, messages, asked.tools ?? [])
    return tracedModelCall(call, () => this.#patiently(body, asked), usageOf)
  }

  async #patiently(body: string, { signal, onRetry }: Asked): Promise<ModelAnswer> {
    for (let attempt = 1; ; attempt++) {
      const tried = await this.#attempt(body, attempt, signal)
      if (!('error' in tried)) return tried
      const { error, retryMs } = tried
      if (retryMs === null || attempt >= ATTEMPTS_MAX) {
        const tries = attempt === 1 ? '' : ` (tried ${attempt} times)`
        throw new Error(this.#withoutKey(`the model ${error}${tries}`))
      }
      onRetry?.(retryMs, this.#withoutKey(error))
      await pause(retryMs, signal)
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async #attempt(body: string, attempt: number, signal: AbortSignal): Promise<Attempt> {
    const timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS
    const retryMs = (this.#options.retryBaseMs ?? RETRY_BASE_MS) * 2 ** (attempt - 1)
    const late = AbortSignal.timeout(timeoutMs)
    try {
      const answer = await request(endpointOf(this.#settings.url ?? ''), {
        method: 'POST',
        headers: this.#headers(),
        body,
        dispatcher: this.#agent,
        signal: AbortSignal.any([signal, late]),
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      })
      const text = (await readBody(answer.body, ANSWER_MAX_BYTES)).toString('utf8')
      if (answer.statusCode >= 200 && answer.statusCode < 300)
        return readAnswer(text, this.#settings.name ?? '')
      return this.#refused(answer, text, retryMs)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof BodyTooLong) return { error: error.message, retryMs: null }
      if (late.aborted) return { error: `did not answer within ${timeoutMs} ms`, retryMs: null }
      return { error: `could not be reached: ${errorText(innermost(error), 300)}`, retryMs }
    }
  }

  #refused({ statusCode, headers }: Dispatcher.ResponseData, text: string, ladderMs: number) {
    const said = `answered ${statusCode}${quoted(text)}`
    if (statusCode >= 300 && statusCode < 400)
      return {
        error: `${said}: redirects are not followed, so WAKEFUL_MODEL_URL takes the address they lead to`,
        retryMs: null,
      }
    if (statusCode === 401 || statusCode === 403)
      return { error: `${said}: look at WAKEFUL_MODEL_KEY`, retryMs: null }
    if (statusCode === 404)
      return { error: `${said}: look at WAKEFUL_MODEL_URL and WAKEFUL_MODEL`, retryMs: null }
    if (statusCode !== 408 && statusCode !== 429 && statusCode < 500)
      return { error: said, retryMs: null }
    const header = headers['retry-after']
    const asked = waitMs(Array.isArray(header) ? header[0] : header, this.#options.now())
    if (asked > RETRY_AFTER_MAX_MS)
      return {
        error: `${said}, and wants to be left alone for ${Math.ceil(asked / 1000)} s`,
        retryMs: null,
      }
    return { error: said, retryMs: Math.max(asked, ladderMs) }
  }

  #headers(): Record<string, string> {
    const { key } = this.#settings
    return {
      accept: 'application/json',
      'content-type': 'application/json',
      'user-agent': 'wakeful',
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    }
  }

  /** Some endpoints repeat the key in their errors. */
  #withoutKey(text: string): string {
    const { key } = this.#settings
    return key === null || key === '' ? text : text.replaceAll(key, '[key]')
  }
}

function usageOf({ inputTokens, outputTokens, cutOff }: ModelAnswer): ModelUsage {
  return {
    ...(inputTokens === null ? {} : { inputTokens }),
    ...(outputTokens === null ? {} : { outputTokens }),
    finishReason: cutOff ? 'length' : 'stop',
  }
}

/** As the endpoint writes it. */
function bodyOf(
  model: string | null,
  messages: readonly ChatMessage[],
  tools: readonly ToolSpec[],
): string {
  const offered = tools.map((tool) => ({ type: 'function', function: tool }))
  const body = { model, messages: messages.map(wireMessage), stream: false }
  return JSON.stringify(tools.length === 0 ? body : { ...body, tools: offered })
}

function wireMessage(message: ChatMessage): object {
  if (message.role === 'tool')
    return { role: 'tool', tool_call_id: message.callId, content: message.content }
  if (message.role !== 'assistant' || message.calls === undefined) return message
  const tool_calls = message.calls.map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }))
  return { role: 'assistant', content: message.content, tool_calls }
}

function missingText({ url, name }: ModelSettings): string | null {
  const names: (keyof typeof TAKES)[] = []
  if (url === null) names.push('WAKEFUL_MODEL_URL')
  if (name === null) names.push('WAKEFUL_MODEL')
  if (names.length === 0) return null
  const list = names.map((each) => `${each} (${TAKES[each]})`).join(' and ')
  return `no chat model is set: set ${list}; WAKEFUL_MODEL_KEY too where the endpoint wants a key`
}

function endpointOf(base: string): URL {
  const url = new URL(base)
  const path = url.pathname.replace(/\/+$/, '')
  url.pathname = path.endsWith('/chat/completions') ? path : `${path}/chat/completions`
  return url
}

function waitMs(header: string | undefined, now: Date): number {
  const asked = retryAfterOf(header)
  if (asked === null) return 0
  return 'at' in asked ? Math.max(0, asked.at.getTime() - now.getTime()) : asked.afterMs
}

type Loose = Record<string, unknown>

function readAnswer(text: string, name: string): Attempt {
  const wrong = (what: string): Attempt => ({
    error: `${what}: is WAKEFUL_MODEL_URL the base of an OpenAI-compatible endpoint?`,
    retryMs: null,
  })
  const body = parsed(text)
  if (body === null) return wrong(`answered with something that is no JSON${quoted(text)}`)
  const [choice] = Array.isArray(body.choices) ? (body.choices as (Loose | null)[]) : []
  const message = choice?.message as Loose | undefined
  if (typeof message !== 'object' || message === null)
    return wrong('answered without choices[0].message')
  if (typeof message.refusal === 'string' && message.refusal !== '')
    return { error: `refused: ${message.refusal.slice(0, QUOTED_MAX)}`, retryMs: null }
  if (choice?.finish_reason === 'content_filter')
    return { error: 'stopped at its content filter', retryMs: null }
  const said = withoutThoughts(contentOf(message.content)).trim()
  const calls = callsOf(message.tool_calls)
  if (said === '' && calls.length === 0)
    return { error: 'answered with an empty text', retryMs: null }
  const usage = (body.usage ?? {}) as Loose
  return {
    text: said,
    model: typeof body.model === 'string' ? body.model.slice(0, 200) : name,
    cutOff: choice?.finish_reason === 'length',
    inputTokens: count(usage.prompt_tokens),
    outputTokens: count(usage.completion_tokens),
    ...(calls.length === 0 ? {} : { calls }),
  }
}

/** Valid tool calls; some endpoints send the arguments as an object. */
function callsOf(wanted: unknown): ToolCall[] {
  if (!Array.isArray(wanted)) return []
  return (wanted as (Loose | null)[]).slice(0, CALLS_MAX).flatMap((each, index) => {
    const called = each?.function as Loose | undefined
    if (typeof called?.name !== 'string' || called.name.length > 64) return []
    const given = called.arguments ?? '{}'
    const text = typeof given === 'string' ? given : JSON.stringify(given)
    const id =
      typeof each?.id === 'string' && each.id !== '' ? each.id.slice(0, 200) : `call_${index}`
    return text.length > CALL_MAX ? [] : [{ id, name: called.name, arguments: text }]
  })
}

/** A text, or a list of parts. */
function contentOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return (content as (Loose | null)[])
    .map((part) => (typeof part?.text === 'string' ? part.text : ''))
    .join('')
}

/** Removes the thinking that local reasoning models put before the answer. */
function withoutThoughts(text: string): string {
  const end = text.indexOf('</think>')
  return text.trimStart().startsWith('<think>') && end >= 0 ? text.slice(end + 8) : text
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}

function parsed(text: string): Loose | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Loose) : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** The error text of the endpoint, if any. */
function quoted(text: string): string {
  const body = parsed(text)
  const error = (body?.error ?? body?.message ?? body?.detail) as Loose | string | undefined
  const said = typeof error === 'string' ? error : error?.message
  const words = typeof said === 'string' ? said : text
  const line = words.replaceAll(/\s+/g, ' ').trim()
  if (line === '') return ''
  return ` (${line.length > QUOTED_MAX ? `${line.slice(0, QUOTED_MAX)}…` : line})`
}

function innermost(error: unknown): unknown {
  if (error instanceof AggregateError) return error.errors[0]
  return error instanceof Error && error.cause instanceof Error ? error.cause : error
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    signal.throwIfAborted()
    const cut = () => {
      clearTimeout(timer)
      fail(signal.reason as Error)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', cut)
      done()
    }, ms)
    signal.addEventListener('abort', cut, { once: true })
  })
}
