/** Work through the corridor: rules 6, 30 and 31 on both stores. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { WorkRun } from '../../src/agents/executor.ts'
import { type Row, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const HOUR = 3_600_000
const SEEN: WorkRun[] = []
let running = 0
let most = 0
let gate: Promise<void> | null = null

const EXECUTORS = {
  echo: async (run: WorkRun) => {
    SEEN.push(run)
    most = Math.max(most, ++running)
    await gate
    running--
    return { title: `Echo ${run.runNumber}`, content: run.task, metadata: { n: run.runNumber } }
  },
  broken: async () => {
    throw new Error('no paper')
  },
  chatty: async (run: WorkRun) => {
    run.progress(0.4, 'reading sources')
    await gate
    return { title: '', content: '# Chatty\n\nfirst line\nsecond line' }
  },
  odd: async () => ({ title: 'x', content: 7 }) as never,
}

eachStore('work', (store) => {
  const get = sharedStage(store, {
    work: EXECUTORS,
    agents: {
      bot: (turn) => {
        turn.state.turns = Number(turn.state.turns ?? 0) + 1
        turn.say('hm')
      },
    },
  })
  beforeEach(() => {
    SEEN.length = 0
    gate = null
    running = most = 0
  })

  async function make(body: object): Promise<{ work: Row; output?: Row }> {
    const answer = await get().call('POST', '/v1/work', {
      task: 'say it',
      agent_type: 'echo',
      ...body,
    })
    expect(answer.status, answer.text).toBe(201)
    return answer.body
  }
  const show = async (id: string): Promise<{ work: Row; outputs: Row[] }> =>
    (await get().call('GET', `/v1/work/${id}`)).body

  it('rule 31: once runs at once, and has no further runs', async () => {
    const { work, output } = await make({ parameters: { a: 1 } })
    expect(work).toMatchObject({
      frequency: 'once',
      is_active: false,
      next_run_at: null,
      next_runs: [],
    })
    expect(output).toMatchObject({ run_number: 1, status: 'pending', started_at: null })
    await get().settle()
    const { work: after, outputs } = await show(work.id)
    expect(outputs).toHaveLength(1)
    expect(outputs[0]).toMatchObject({
      id: output?.id,
      status: 'completed',
      title: 'Echo 1',
      content: 'say it',
      metadata: { n: 1 },
      output_type: 'text',
      error_message: null,
      progress: 1,
      attempt: 1,
    })
    expect(after.last_run_at).toBe(outputs[0]?.started_at)
    expect(SEEN[0]).toMatchObject({
      userId: 'local',
      parameters: { a: 1 },
      attempt: 1,
      timezone: 'UTC',
    })
    await get().advanceBy(48 * HOUR)
    expect((await show(work.id)).outputs).toHaveLength(1)
  })

  it('rule 30: recurring work leaves one output for each slot, at its nominal time', async () => {
    const { work, output } = await make({ frequency: 'every hour' })
    expect(output?.run_number).toBe(1)
    await get().advanceBy(3 * HOUR)
    const { outputs, work: after } = await show(work.id)
    expect(outputs.map((o) => [o.run_number, o.status, o.scheduled_for])).toEqual([
      [4, 'completed', '2026-01-01T03:00:00.000Z'],
      [3, 'completed', '2026-01-01T02:00:00.000Z'],
      [2, 'completed', '2026-01-01T01:00:00.000Z'],
      [1, 'completed', '2026-01-01T00:00:00.000Z'],
    ])
    expect(after.next_run_at).toBe('2026-01-01T04:00:00.000Z')
    expect(after.next_runs).toHaveLength(3)
  })

  it('run_first: false waits for the first slot', async () => {
    const { work, output } = await make({ frequency: 'every hour', run_first: false })
    expect(output).toBeUndefined()
    await get().settle()
    expect((await show(work.id)).outputs).toEqual([])
    await get().advanceBy(HOUR)
    expect((await show(work.id)).outputs).toHaveLength(1)
  })

  it('rule 30: a failed run says why, is not tried again, and the schedule goes on', async () => {
    const { work } = await make({ agent_type: 'broken', frequency: 'every hour' })
    await get().advanceBy(2 * HOUR)
    const { outputs, work: after } = await show(work.id)
    expect(outputs.map((o) => [o.run_number, o.status, o.error_message, o.attempt])).toEqual([
      [3, 'failed', 'no paper', 1],
      [2, 'failed', 'no paper', 1],
      [1, 'failed', 'no paper', 1],
    ])
    expect(after).toMatchObject({ is_active: true, next_run_at: '2026-01-01T03:00:00.000Z' })
  })

  it('an executor that returns nonsense fails with words that help', async () => {
    const { work } = await make({ agent_type: 'odd' })
    await get().settle()
    expect((await show(work.id)).outputs[0]?.error_message).toContain('{ title, content }')
  })

  it('rule 6: after downtime one run with the first missed slot and how many more passed', async () => {
    const { work } = await make({ frequency: 'every hour', run_first: false })
    get().sleep(5 * HOUR + 60_000)
    await get().settle()
    const { outputs, work: after } = await show(work.id)
    expect(outputs).toHaveLength(1)
    expect(outputs[0]).toMatchObject({ scheduled_for: '2026-01-01T01:00:00.000Z', missed_count: 4 })
    expect(SEEN[0]?.missedCount).toBe(4)
    expect(after.next_run_at).toBe('2026-01-01T06:00:00.000Z')
  })

  it('rule 31: paused work rests; resumed work has a future time', async () => {
    const { work } = await make({ frequency: 'every hour', run_first: false })
    const path = `/v1/work/${work.id}`
    const paused = await get().call('PATCH', path, { is_active: false })
    expect(paused.body.work).toMatchObject({ is_active: false, next_run_at: null })
    await get().advanceBy(5.5 * HOUR)
    expect((await show(work.id)).outputs).toEqual([])
    const resumed = await get().call('PATCH', path, { is_active: true })
    expect(resumed.body.work.next_run_at).toBe('2026-01-01T06:00:00.000Z')
    await get().advanceBy(HOUR)
    expect((await show(work.id)).outputs).toHaveLength(1)
  })

  it('rule 31: changed to once it ends, and can still be run', async () => {
    const { work } = await make({ frequency: 'every hour', run_first: false })
    const once = await get().call('PATCH', `/v1/work/${work.id}`, { frequency: 'once' })
    expect(once.body.work).toMatchObject({
      is_active: false,
      next_run_at: null,
      frequency_cron: null,
    })
    await get().advanceBy(3 * HOUR)
    expect((await show(work.id)).outputs).toEqual([])
    expect((await get().call('PATCH', `/v1/work/${work.id}`, { is_active: true })).status).toBe(409)
    const run = await get().call('POST', `/v1/work/${work.id}/run`)
    expect(run.status).toBe(202)
    expect(run.body.output).toMatchObject({ run_number: 1, status: 'pending' })
    await get().settle()
    expect((await show(work.id)).outputs[0]?.status).toBe('completed')
  })

  it('rule 30: parallel runs queue, each with its own number, and never overlap', async () => {
    const { work } = await make({ frequency: 'every hour' })
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => get().call('POST', `/v1/work/${work.id}/run`)),
    )
    const numbers = answers.map((a) => a.body.output.run_number).sort((a, b) => a - b)
    expect(numbers).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    await get().advanceBy(HOUR)
    expect(SEEN.map((run) => run.runNumber)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(most).toBe(1)
    const { outputs } = await show(work.id)
    expect(outputs.every((o) => o.status === 'completed')).toBe(true)
  })

  it('a bounded number of runs may wait', async () => {
    const { work } = await make({ run_first: false })
    const statuses: number[] = []
    for (let n = 0; n < 101; n++)
      statuses.push((await get().call('POST', `/v1/work/${work.id}/run`)).status)
    expect(statuses.filter((status) => status === 202)).toHaveLength(99)
    expect(statuses.at(-1)).toBe(409)
  })

  it('invariant 10: deleted before its turn, it does not run; its outputs are gone', async () => {
    const { work } = await make({})
    expect((await get().call('DELETE', `/v1/work/${work.id}`)).status).toBe(204)
    await get().settle()
    expect(SEEN).toEqual([])
    expect((await get().call('GET', `/v1/work/${work.id}`)).status).toBe(404)
    expect(await get().query('select 1 from wakeful.work_outputs')).toEqual([])
    const turns = await get().query<{ status: string; error: string }>(
      'select * from wakeful.turns',
    )
    expect(turns[0]).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('cancelled'),
    })
  })

  it('invariant 10: deleted while it runs, it writes nothing', async () => {
    let open = () => {}
    gate = new Promise((done) => {
      open = done
    })
    const { work } = await make({ frequency: 'every hour' })
    const settling = get().settle()
    while (SEEN.length === 0) await new Promise((done) => setImmediate(done))
    const { outputs } = await show(work.id)
    expect(outputs[0]).toMatchObject({ status: 'running', completed_at: null })
    await get().call('DELETE', `/v1/work/${work.id}`)
    open()
    await settling
    expect(await get().query('select 1 from wakeful.work_outputs')).toEqual([])
    expect(await get().query('select 1 from wakeful.work')).toEqual([])
  })

  it('a slot that passes during a long run is coalesced into it', async () => {
    let open = () => {}
    gate = new Promise((done) => {
      open = done
    })
    const { work } = await make({ frequency: 'every hour', run_first: false })
    get().sleep(HOUR)
    const settling = get().settle()
    while (SEEN.length === 0) await new Promise((done) => setImmediate(done))
    get().sleep(2.5 * HOUR)
    open()
    await settling
    const { outputs, work: after } = await show(work.id)
    expect(outputs[0]).toMatchObject({ run_number: 1, missed_count: 2, status: 'completed' })
    expect(after.next_run_at).toBe('2026-01-01T04:00:00.000Z')
  })

  it('rule 6: slots that pass during a run are told with the next one, but not those of a pause', async () => {
    let open = () => {}
    const hold = () => {
      gate = new Promise((done) => {
        open = done
      })
    }
    const { work } = await make({ frequency: 'every hour', run_first: false })
    const told = () =>
      SEEN.map(({ scheduledFor, missedCount }) => [scheduledFor.getUTCHours(), missedCount])
    const runFor = async (ms: number) => {
      const before = SEEN.length
      hold()
      const settling = get().settle()
      while (SEEN.length === before) await new Promise((done) => setImmediate(done))
      get().sleep(ms)
      open()
      await settling
    }
    get().sleep(HOUR)
    await runFor(2.5 * HOUR)
    get().sleep(HOUR / 2)
    await runFor(1.5 * HOUR)
    expect(told()).toEqual([
      [1, 0],
      [4, 2],
    ])
    const set = (is_active: boolean) => get().call('PATCH', `/v1/work/${work.id}`, { is_active })
    await set(false)
    get().sleep(5 * HOUR)
    await set(true)
    get().sleep(HOUR)
    await runFor(0)
    expect(told().at(-1)).toEqual([11, 0])
    const events = await get().query<Row>(
      `select payload from wakeful.events where type = 'work' and payload ->> 'missed' is not null`,
    )
    expect(events.map(({ payload }) => JSON.parse(payload).missed)).toEqual([
      { count: 2, from: '2026-01-01T02:00:00.000Z', to: '2026-01-01T03:00:00.000Z' },
    ])
  })

  it('progress is shown while it runs, and the note stays', async () => {
    let open = () => {}
    gate = new Promise((done) => {
      open = done
    })
    const { work } = await make({ agent_type: 'chatty' })
    const settling = get().settle()
    const path = `/v1/work/${work.id}/outputs/1`
    let seen: Row = {}
    while (seen.progress == null) seen = (await get().call('GET', path)).body
    expect(seen).toMatchObject({ status: 'running', progress_note: 'reading sources' })
    expect(seen.progress).toBeCloseTo(0.4)
    open()
    await settling
    expect((await get().call('GET', path)).body).toMatchObject({
      status: 'completed',
      progress: 1,
      progress_note: 'reading sources',
      title: 'say it',
    })
  })

  describe('notices', () => {
    const effects = () =>
      get().query<Row>(
        `select payload, origin, reason from wakeful.effects where session_key = 'local:bot:t' order by position`,
      )

    it('a completed run tells the session, whatever was said before, and leaves the agent alone', async () => {
      await get().call('POST', '/v1/sessions/local:bot:t/messages', { text: 'hello' })
      await get().settle()
      const parameters = { notify_session: 'local:bot:t' }
      const { work } = await make({ agent_type: 'chatty', task: 'Chatty', parameters })
      await get().settle()
      const [, notice] = await effects()
      expect(JSON.parse(notice?.payload)).toEqual({
        content: '"Chatty" is ready (run 1).\n\nfirst line\nsecond line',
      })
      expect(notice?.reason).toBe('notice')
      expect(JSON.parse(notice?.origin)).toEqual({ kind: 'work', id: work.id })
      // Within the cooldown of follow-ups, which is not for a result that was asked for.
      await make({ agent_type: 'chatty', task: 'Again', parameters })
      await get().settle()
      expect(await effects()).toHaveLength(3)
      const turns = (await get().call('GET', '/v1/sessions/local:bot:t/turns')).body.data
      expect(turns.at(-1)).toMatchObject({
        status: 'committed',
        verdicts: [{ allowed: true, rule: 'promised' }],
      })
      await get().call('POST', '/v1/sessions/local:bot:t/messages', { text: 'again' })
      await get().settle()
      const [state] = await get().query<Row>(
        `select c.checkpoint from wakeful.checkpoints c join wakeful.sessions s on c.thread_id = s.session_key
         and c.checkpoint_id = s.checkpoint_id where s.session_key = 'local:bot:t'`,
      )
      expect(JSON.parse(state?.checkpoint)).toEqual({ turns: 2 })
    })

    it('several at once go to one session in order, also that one failed', async () => {
      const parameters = { notify_session: 'local:bot:t' }
      for (const task of ['one', 'two', 'three']) await make({ task, parameters })
      await make({ agent_type: 'broken', parameters })
      await get().settle()
      const events = await get().query<Row>(
        `select seq, type, payload from wakeful.events where session_key = 'local:bot:t' order by seq`,
      )
      expect(events.map((e) => [e.seq, e.type])).toEqual([
        [1, 'work'],
        [2, 'work'],
        [3, 'work'],
        [4, 'work'],
      ])
      const payloads = events.map((e) => JSON.parse(e.payload))
      expect(payloads.map(({ notice, failed = false }) => [notice, failed]).sort()).toEqual([
        ...Array(3).fill([true, false]),
        [true, true],
      ])
    })
  })
})
