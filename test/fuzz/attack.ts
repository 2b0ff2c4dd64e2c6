/** One request after the other, made by the description that the server gives of itself. What must not happen is noted. */
import { request as httpRequest } from 'node:http'
import { operations } from '../../src/app/operations.ts'
import { Generator, type Schema } from './generate.ts'

/** What an operation answers; the document is printed from the same schemas. */
const OUTPUTS = new Map(operations.map(({ name, output }) => [name, output]))

/** Longer than a request may ask to wait (`wait_seconds`). */
const ANSWER_MS = 90_000

export interface Found {
  readonly what: 'server error' | 'leak' | 'no answer' | 'no problem' | 'undeclared' | 'wrong shape'
  readonly request: string
  readonly answer: string
}

interface Parameter {
  readonly in: 'path' | 'query' | 'header'
  readonly name: string
  readonly schema?: Schema
  readonly required?: boolean
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly responses: Readonly<Record<string, unknown>>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export interface Caller {
  /** Null: without a credential. */
  readonly key: string | null
  /** May be handed the ids of another's things: it must not reach them. */
  readonly foreign: boolean
}

interface Made {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | null
  /** Null where anything may come. */
  readonly operation?: Operation | null
}

export interface Answer {
  readonly status: number
  readonly type: string
  readonly text: string
}

const IDS_MAX = 400

export class Attack {
  readonly found: Found[] = []
  readonly statuses = new Map<number, number>()
  readonly generator: Generator
  readonly #operations: { method: string; path: string; operation: Operation }[]
  readonly #url: URL
  readonly #options: AttackOptions

  constructor(options: AttackOptions, document: Document) {
    this.#options = options
    this.#url = new URL(options.url)
    this.generator = new Generator(options.random, document.components.schemas)
    this.#operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
      })),
    )
  }

  /** One request as `caller`. */
  async once(caller: Caller): Promise<void> {
    const made = this.#make(caller)
    const answer = await this.send(made)
    this.judge(`${made.method} ${made.path} ${made.body ?? ''}`, answer, caller, made.operation)
  }

  judge(
    request: string,
    answer: Answer | null,
    caller: Caller,
    operation: Operation | null = null,
  ): void {
    const note = (what: Found['what']) =>
      this.found.push({
        what,
        request: request.slice(0, 2000),
        answer: (answer?.text ?? '').slice(0, 500),
      })
    if (answer === null) return void note('no answer')
    const { status, text, type } = answer
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    if (status >= 500) note('server error')
    if (operation !== null && status > 0 && !(status in operation.responses)) note('undeclared')
    if (operation !== null && status < 300 && !hasShape(operation, answer)) note('wrong shape')
    if (caller.foreign && text.includes(this.#options.secret)) note('leak')
    if (status >= 400 && !/json/.test(type) && text !== '') note('no problem')
    if (!text.includes('request_id')) this.#learn(text)
  }

  /** Ids that are not the other's: whoever may reach everything would change what is his. */
  #learn(text: string): void {
    const { generator: g } = this
    for (const [id] of text.matchAll(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g))
      if (g.ids.length < IDS_MAX && g.chance(0.02) && !this.#options.foreignIds.includes(id))
        g.ids.push(id)
  }

  #make(caller: Caller): Made {
    const g = this.generator
    const { method, path, operation } = g.one(this.#operations)
    const query = new URLSearchParams()
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (caller.key !== null) headers.authorization = `Bearer ${caller.key}`
    let filled = path
    for (const { in: where, name, schema, required } of operation.parameters ?? []) {
      if (where === 'path')
        filled = filled.replace(`{${name}}`, encoded(this.#pathValue(name, schema, caller)))
      else if (required || g.chance(0.3)) {
        const value = g.text(schema)
        if (where === 'query') query.append(name, value.slice(0, 3000))
        else headers[name.toLowerCase()] = value.replace(/[^\x21-\x7e]/g, '_').slice(0, 300) || 'kk'
      }
    }
    const schema = operation.requestBody?.content['application/json']?.schema
    const json = schema === undefined ? (g.chance(0.05) ? '{}' : null) : g.json(schema)
    const body = json !== null && g.chance(0.05) ? g.mangled(json) : json
    if (g.chance(0.03))
      headers['wakeful-act-as'] = g.one(['bob', 'ann', 'did:matrix:bob:0000000000000000', '%', ''])
    if (g.chance(0.02))
      headers['content-type'] = g.one(['text/plain', 'application/xml', 'multipart/form-data', ''])
    if (g.chance(0.01))
      headers.traceparent = g.one([
        '00-0-0-0',
        '',
        '00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-ff',
      ])
    const search = query.size === 0 ? '' : `?${query}`
    const other = g.chance(0.02)
    return {
      // Another method or another way of acting is another question.
      operation: other || 'wakeful-act-as' in headers ? null : operation,
      method: other ? g.one(['PATCH', 'PUT', 'DELETE', 'POST', 'GET', 'OPTIONS']) : method,
      path: filled + search,
      headers,
      body,
    }
  }

  #pathValue(name: string, schema: Schema | undefined, caller: Caller): string {
    const g = this.generator
    if (name === 'session_key')
      return g.one([
        'ann:bot:t',
        'ann:bot:t2',
        caller.foreign ? 'bob:bot:t' : 'ann:bot:t',
        'a:b',
        'ann:nobody:t',
        ':::',
        g.text(schema),
      ])
    if (name === 'id' || name.endsWith('_id'))
      return g.chance(0.8)
        ? g.one(caller.foreign ? [...g.ids, ...this.#options.foreignIds] : g.ids)
        : g.text(schema)
    return g.text(schema)
  }

  send({ method, path, headers, body }: Made): Promise<Answer | null> {
    return new Promise((done) => {
      const { hostname, port } = this.#url
      try {
        const request = httpRequest(
          { hostname, port, method, path, headers, agent: this.#options.agent, timeout: ANSWER_MS },
          (response) => {
            let text = ''
            response.setEncoding('utf8')
            response.on('data', (chunk: string) => (text += chunk))
            response.on('end', () =>
              done({
                status: response.statusCode ?? 0,
                type: String(response.headers['content-type'] ?? ''),
                text,
              }),
            )
            response.on('error', () => done(null))
          },
        )
        request.on('timeout', () => request.destroy())
        request.on('error', (error: NodeJS.ErrnoException) => {
          // A kept connection that the server ended for its age, at the very moment it was used again.
          const stale = request.reusedSocket && error.code === 'ECONNRESET'
          done(stale ? this.send({ method, path, headers, body }) : null)
        })
        request.end(body ?? undefined)
      } catch {
        // Our own client does not send that.
        done({ status: 0, type: 'json', text: '' })
      }
    })
  }
}

const encoded = (value: string) =>
  encodeURIComponent(value.replace(/[\ud800-\udfff]/g, '?')).slice(0, 2000) || '%20'

interface AttackOptions {
  readonly url: string
  readonly random: () => number
  /** Part of whatever belongs to another owner. */
  readonly secret: string
  readonly foreignIds: readonly string[]
  readonly agent: import('node:http').Agent
}

function hasShape({ operationId }: Operation, { type, text }: Answer): boolean {
  const output = OUTPUTS.get(operationId) ?? null
  if (output === null || !/^application\/json/.test(type)) return true
  return output.safeParse(JSON.parse(text)).success
}
