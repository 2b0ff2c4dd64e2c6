/** The door: requests per second with 64 connections, beside a bare Fastify route that checks a body and does nothing. */
import type { Arena } from '../arena.ts'
import type { Figure } from '../figures.ts'
import { load, type Route } from '../load.ts'

export interface Size {
  readonly rounds: number
  readonly requests: number
}

interface Measured {
  readonly name: string
  readonly route: Route
  readonly least?: number
}

const BARE = {
  POST: { method: 'POST', path: '/', body: { text: 'hello' } },
  GET: { method: 'GET', path: '/' },
} as const satisfies Record<string, Route>

const MESSAGE: Route = {
  method: 'POST',
  path: '/v1/sessions/u#:silent:t/messages',
  body: { text: 'hello' },
}

const ROUTES: readonly Measured[] = [
  { name: 'POST message', route: MESSAGE, least: 0.4 },
  {
    name: 'POST alarm',
    route: {
      method: 'POST',
      path: '/v1/alarms',
      body: {
        agent_id: 'silent',
        kind: 'once',
        delay_seconds: 864_000,
        wake_message: 'bench',
        payload: { n: 1 },
      },
    },
    least: 0.4,
  },
  {
    name: 'POST preview',
    route: {
      method: 'POST',
      path: '/v1/schedules/preview',
      body: { schedule: 'every weekday at 8:30', timezone: 'Europe/Berlin' },
    },
    least: 0.5,
  },
  { name: 'GET session', route: { method: 'GET', path: '/v1/sessions/u#:silent:t' }, least: 0.3 },
  {
    name: 'GET 20 alarms',
    route: { method: 'GET', path: '/v1/alarms?limit=20' },
    least: 0.15,
  },
]

/** The same in a process that also runs the turns which the messages ask for. */
const TURNING: readonly Measured[] = [{ name: 'POST message, with turns', route: MESSAGE }]

/** The door alone, as in a process that serves HTTP and nothing else; and messages where their turns run, too. */
export async function http(arena: Arena, { rounds, requests }: Size): Promise<Figure[]> {
  const rates = new Map<string, number[]>()
  const measure = async (name: string, address: string, route: Route) => {
    const rate = await load(address, route, requests)
    rates.set(name, [...(rates.get(name) ?? []), rate])
    console.error(`  ${name}: ${Math.round(rate)}/s`)
  }
  const beside = async (bare: string, wakeful: string, routes: readonly Measured[]) => {
    // Not measured while it is still being compiled.
    for (const route of Object.values(BARE)) await load(bare, route, requests >> 2)
    for (const { route } of routes) await load(wakeful, route, Math.max(1_000, requests >> 2))
    for (let round = 0; round < rounds; round++) {
      for (const { name, route } of routes) {
        await measure(`bare beside ${name}`, bare, BARE[route.method])
        await measure(name, wakeful, route)
      }
    }
  }
  const served = (bare: string, routes: readonly Measured[], env: Record<string, string>) =>
    arena.hold({
      ...{ who: 'wakeful', loads: [], env },
      beside: (wakeful) => beside(bare, wakeful, routes),
    })
  await arena.hold({
    who: 'bare',
    loads: [],
    store: () => 'none',
    beside: async (bare) => {
      await served(bare, ROUTES, { WAKEFUL_SERVICES: 'http' })
      await served(bare, TURNING, {})
    },
  })
  return [...ROUTES, ...TURNING].map(({ name, route, least }) => ({
    measure: 'door',
    name,
    unit: 'requests/s',
    rounds: rates.get(name) ?? [],
    beside: { name: `bare ${route.method}`, rounds: rates.get(`bare beside ${name}`) ?? [] },
    ...(least === undefined ? {} : { goal: { least } }),
  }))
}
