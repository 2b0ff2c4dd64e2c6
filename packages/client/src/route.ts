/** From an operation's name and input to a request: which fields go into the path, the query, the body. */
import type { Request } from './transport.ts'

const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

export interface Route {
  readonly method: string
  readonly path: string
  /** Takes an Idempotency-Key. */
  readonly creates: boolean
  /** Fields that are not in the path go into a body; without one, into the query. */
  readonly body: boolean
  /** Of an operation with a body: the fields that go into the query all the same. */
  readonly query: readonly string[]
}

/** `POST /v1/alarms/{id}/fire-now creates`, as the table of routes writes it. */
export function routeOf(written: string): Route {
  const [method = '', path = '', ...marks] = written.split(' ')
  const query = marks.find((mark) => mark.startsWith('query='))
  return {
    method,
    path,
    creates: marks.includes('creates'),
    body: WITH_BODY.has(method),
    query: query === undefined ? [] : query.slice('query='.length).split(','),
  }
}

export function requestOf(route: Route, input: Readonly<Record<string, unknown>>): Request {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => pathPart(rest, name))
  const query = new URLSearchParams()
  for (const [name, value] of [...rest]) {
    if (route.body && !route.query.includes(name)) continue
    query.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
    rest.delete(name)
  }
  return {
    method: route.method,
    path: query.size === 0 ? path : `${path}?${query}`,
    // Empty where an operation takes none, which the server does not mind.
    ...(route.body ? { body: Object.fromEntries(rest) } : {}),
  }
}

/** A dot or nothing would make it another address. */
function pathPart(rest: Map<string, unknown>, name: string): string {
  const text = String(rest.get(name) ?? '')
  rest.delete(name)
  if (text === '' || text === '.' || text === '..')
    throw new TypeError(`${name}: takes something that names what is meant`)
  return encodeURIComponent(text)
}
