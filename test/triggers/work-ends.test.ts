/** How runs end that do not end by themselves, and what refuses to start. */
import { expect, it } from 'vitest'
import { executorAgent, type WorkRun } from '../../src/agents/executor.ts'
import { agent } from '../../src/agents/function.ts'
import { testWakeful } from '../../src/testing.ts'
import { stage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const done = async () => ({ title: 'Done', content: '' })
const env = { PORT: '0', LOG_LEVEL: 'silent' }

eachStore('work that is stopped', (store) => {
  it('invariant 10: a run whose work is deleted is aborted within a heartbeat, and writes nothing', async () => {
    let aborted: unknown
    let begin = () => {}
    const began = new Promise<void>((done) => {
      begin = done
    })
    const s = await stage(await store.database(), {
      env: { WAKEFUL_LEASE_MS: '6000' },
      work: {
        endless: (run: WorkRun) =>
          new Promise((_, fail) => {
            run.signal.addEventListener('abort', () => {
              aborted = run.signal.reason
              fail(run.signal.reason)
            })
            begin()
          }),
      },
    })
    const body = { task: 'go on', agent_type: 'endless', frequency: 'hourly' }
    const { work } = (await s.call('POST', '/v1/work', body)).body
    const settling = s.settle()
    await began
    expect((await s.call('DELETE', `/v1/work/${work.id}`)).status).toBe(204)
    await settling
    expect(String(aborted)).toContain('deleted')
    expect(await s.query('select 1 from wakeful.work_outputs')).toEqual([])
    const turns = await s.query<{ status: string }>('select status from wakeful.turns')
    expect(turns).toEqual([{ status: 'failed' }])
  })

  it.each(['completed', 'failed'])(
    'an output that has %s stays as it is, whatever a run brings later',
    async (ended) => {
      let begin = () => {}
      const began = new Promise<void>((done) => {
        begin = done
      })
      let open = () => {}
      const opened = new Promise<void>((done) => {
        open = done
      })
      const s = await stage(await store.database(), {
        work: {
          slow: async () => {
            begin()
            await opened
            return { title: 'Late', content: 'too late' }
          },
        },
      })
      const { work } = (await s.call('POST', '/v1/work', { task: 'go', agent_type: 'slow' })).body
      const settling = s.settle()
      await began
      await s.query(
        `update wakeful.work_outputs set status = $1, title = 'First', completed_at = $2,
         error_message = case $1 when 'failed' then 'no paper' end`,
        [ended, s.now()],
      )
      open()
      await settling
      const { outputs } = (await s.call('GET', `/v1/work/${work.id}`)).body
      expect(outputs).toMatchObject([{ status: ended, title: 'First', content: null }])
    },
  )
})

it('rule 30: a run has 300 s', () => {
  const house = {
    report: async () => null,
    files: { put: async () => undefined },
    trouble: () => undefined,
  }
  expect(executorAgent(done, house).timeoutMs).toBe(300_000)
})

it('one name for an agent and an executor is refused at the start, naming both', async () => {
  const bot = agent(() => undefined)
  await expect(
    testWakeful({ database: 'memory:', agents: { bot }, work: { bot: done }, env }),
  ).rejects.toThrow('the executor "bot" and the agent "bot" share one name')
  await expect(
    testWakeful({ database: 'memory:', agents: { bot }, work: { 'a b': done }, env }),
  ).rejects.toThrow('"a b" must be 1 to 128')
})

it('a stop does not wait for those who wait for an output', async () => {
  const s = await stage('memory:', { work: { echo: done } })
  const asking = s.call('POST', '/v1/work', { task: 'x', agent_type: 'echo', wait_seconds: 60 })
  while ((await s.query('select 1 from wakeful.work')).length === 0) await new Promise(setImmediate)
  await s.stop()
  const answer = await asking
  expect([201, 503]).toContain(answer.status)
})
