/** Work in real processes: killed in the middle of a run, two at one slot, and a run longer than its lease. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { call, type Loose } from '../setup/http.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { bareStore } from '../store/stores.ts'
import { folder, Server } from './server.ts'

const APP = fileURLToPath(new URL('work-app.mjs', import.meta.url))
const TIMEOUT_MS = 600_000
const made: string[] = []
afterAll(() => dropDatabases(made))

interface Mark {
  readonly what: 'start' | 'end'
  readonly workId: string
  readonly runNumber: number
  readonly attempt: number
  readonly scheduledFor: string
}

function place(database: string, leaseMs: number) {
  const home = folder()
  const [hold, witness] = [join(home, 'hold'), join(home, 'witness')]
  const env = {
    DATABASE_URL: database,
    WAKEFUL_APP: APP,
    WAKEFUL_LEASE_MS: String(leaseMs),
    WAKEFUL_FILES: join(home, 'files'),
    LOG_LEVEL: 'error',
    WITNESS: witness,
    HOLD: hold,
  }
  const marks = (): Mark[] =>
    existsSync(witness)
      ? readFileSync(witness, 'utf8')
          .split('\n')
          .filter((line) => line.endsWith('}'))
          .map((line) => JSON.parse(line) as Mark)
      : []
  return { env, hold, marks, start: () => Server.start(env) }
}

const create = async (url: string, body: object): Promise<Loose> => {
  const answer = await call(`${url}/v1/work`, 'POST', { agent_type: 'witness', ...body })
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}
const outputsOf = async (url: string, id: string): Promise<Loose[]> =>
  (await call(`${url}/v1/work/${id}/outputs?limit=100`, 'GET')).body.data

const STORES = {
  pglite: async () => `pglite:${join(folder(), 'data')}`,
  postgres: () => postgresDatabase(made),
}

describe.each(['pglite', 'postgres'] as const)(
  'a process killed in the middle of a run on %s',
  (kind) => {
    it(
      'rule 30: the output does not stay running, and ends as exactly one completed output',
      async () => {
        const { hold, marks, start } = place(await STORES[kind](), 6000)
        writeFileSync(hold, '')
        const first = await start()
        const { work } = await create(first.url, { task: 'hold' })
        await until('the run began', () => marks().length === 1)
        expect((await outputsOf(first.url, work.id))[0]).toMatchObject({
          status: 'running',
          attempt: 1,
        })
        await first.end('SIGKILL')
        rmSync(hold)
        const second = await start()
        await until(
          'the run was taken up again',
          async () => (await outputsOf(second.url, work.id))[0]?.status === 'completed',
        )
        const outputs = await outputsOf(second.url, work.id)
        expect(outputs).toHaveLength(1)
        expect(outputs[0]).toMatchObject({ run_number: 1, content: 'attempt 2', attempt: 2 })
        expect(marks().map(({ what, attempt }) => [what, attempt])).toEqual([
          ['start', 1],
          ['start', 2],
          ['end', 2],
        ])
        expect(await second.end('SIGTERM')).toEqual({ code: 0, signal: null })
      },
      TIMEOUT_MS,
    )
  },
)

it(
  'rule 30 and invariant 4: two processes run each slot once, and a run longer than its lease is kept',
  async () => {
    const database = await postgresDatabase(made)
    const { db } = await bareStore(database)
    const { hold, marks, start } = place(database, 6000)
    writeFileSync(hold, '')
    const [one, two] = await Promise.all([start(), start()])
    const long = await create(one.url, { task: 'hold' })
    await until('the long run began', () => marks().length === 1)
    const [lease] = await db.query<{ end: Date }>(
      'select max(leased_until) as end from wakeful.sessions',
    )
    const works: string[] = []
    for (let n = 0; n < 10; n++) {
      const server = n % 2 === 0 ? one : two
      const { work } = await create(server.url, {
        task: 'quick',
        frequency: '@every 1s',
        run_first: false,
      })
      works.push(work.id)
    }
    await until('its first lease would be over', async () => {
      const [row] = await db.query<{ over: boolean }>('select now() > $1 as over', [lease?.end])
      return row?.over
    })
    for (const id of works)
      await until('three runs', async () => (await outputsOf(two.url, id)).length > 2)
    rmSync(hold)
    await until(
      'the long run ended',
      async () => (await outputsOf(two.url, long.work.id))[0]?.status === 'completed',
    )
    for (const id of works) await call(`${one.url}/v1/work/${id}`, 'PATCH', { is_active: false })
    const settled = async (id: string) =>
      (await outputsOf(two.url, id)).every((output) => output.status === 'completed')
    for (const id of works) await until('all runs ended', () => settled(id))

    expect((await outputsOf(two.url, long.work.id))[0]).toMatchObject({
      attempt: 1,
      content: 'attempt 1',
    })
    const starts = marks().filter(({ what }) => what === 'start')
    const runs = starts.map(({ workId, runNumber }) => `${workId} ${runNumber}`)
    const slots = starts.map(({ workId, scheduledFor }) => `${workId} ${scheduledFor}`)
    expect(new Set(runs).size).toBe(runs.length)
    expect(new Set(slots).size).toBe(slots.length)
    for (const id of works) {
      const outputs = await outputsOf(one.url, id)
      const mine = starts.filter(({ workId }) => workId === id)
      expect(mine.map((each) => each.runNumber)).toEqual(outputs.map((o) => o.run_number).reverse())
    }
  },
  TIMEOUT_MS,
)
