/** What the tests of intents share: bodies that are taken, and the means to make and report. */
import { expect } from 'vitest'
import type { House } from '../sessions/house.ts'
import type { Loose, Reply } from '../setup/http.ts'

export const CRON = {
  intent_name: 'weekly review',
  trigger_type: 'cron',
  trigger_schedule: { cron: '0 9 * * 1' },
  action_context: 'look at the portfolio',
}
export const INTERVAL = {
  ...CRON,
  trigger_type: 'interval',
  trigger_schedule: { interval_minutes: 60 },
}
export const PRICE = {
  ...CRON,
  trigger_type: 'price',
  trigger_schedule: { check_interval_minutes: 30 },
  trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
}
export const ONCE = {
  ...CRON,
  trigger_type: 'once',
  trigger_schedule: { datetime: '2040-01-01T00:00:00Z' },
}

export interface Desk {
  /** Nobody else's in this suite. */
  readonly user: string
  make(body: object): Promise<Loose>
  post(body: object): Promise<Reply<Loose>>
  put(id: string, body: object): Promise<Reply<Loose>>
  get(id: string): Promise<Loose>
  fire(id: string, body: object, headers?: Record<string, string>): Promise<Reply<Loose>>
  pending(query?: string): Promise<Loose[]>
  claim(body: object): Promise<Loose[]>
  history(id: string, query?: string): Promise<Loose[]>
  /** So many milliseconds from the suite's present. */
  later(ms: number): string
}

let users = 0

/** A desk for one person that no other test has. */
export function desk(h: House): Desk {
  const user = `user${++users}`
  const read = async (path: string) => {
    const answer = await h.call('GET', path)
    expect(answer.status, answer.text).toBe(200)
    return answer.body
  }
  const post = (body: object) => h.call('POST', '/v1/intents', { user_id: user, ...body })
  return {
    user,
    post,
    make: async (body) => {
      const answer = await post(body)
      expect(answer.status, answer.text).toBe(201)
      // Only the answer to its making has notes.
      const { notes: _, ...made } = answer.body
      return made
    },
    put: (id, body) => h.call('PUT', `/v1/intents/${id}`, body),
    get: (id) => read(`/v1/intents/${id}`),
    fire: (id, body, headers) => h.call('POST', `/v1/intents/${id}/fire`, body, headers),
    pending: (query = '') => read(`/v1/intents/pending?user_id=${user}${query}`),
    claim: async (body) => {
      const answer = await h.call('POST', '/v1/intents/claims', { user_id: user, ...body })
      expect(answer.status, answer.text).toBe(200)
      return answer.body as unknown as Loose[]
    },
    history: (id, query = '') => read(`/v1/intents/${id}/history${query}`),
    later: (ms) => new Date(h.wakeful.now().getTime() + ms).toISOString(),
  }
}
