/** Work through its routes: shapes, rules, owners, lists, waiting. */
import { describe, expect, it } from 'vitest'
import { loadCases } from '../cases/load.ts'
import { INSTANT, problem, UUID } from '../setup/http.ts'
import { type Row, sharedStage } from '../setup/listening-app.ts'
import { eachStore, type StoreUnderTest } from '../setup/stores.ts'

const AS = (user: string) => ({ 'wakeful-act-as': user })
const NOBODY = '00000000-0000-7000-8000-000000000000'

const WORK = {
  echo: async (run: { task: string }) => ({ title: 'Echo', content: run.task }),
  other: async () => ({ title: 'Other', content: '' }),
}

function open(store: StoreUnderTest) {
  const get = sharedStage(store, { work: WORK })
  const post = (body: object, headers?: Record<string, string>) =>
    get().call('POST', '/v1/work', { task: 'do it', agent_type: 'echo', ...body }, headers)
  return { get, post }
}

eachStore('the routes of work', (store) => {
  const { get, post } = open(store)

  it('answers 201 with the work and its first output', async () => {
    const parameters = '{"b":1,"a":[10000000000000000000001,1E2]}'
    const answer = await get().call(
      'POST',
      '/v1/work',
      `{"task":"daily news","agent_type":"echo","frequency":"daily","timezone":"Europe/Berlin","project_id":"p1","parameters":${parameters}}`,
    )
    expect(answer.status).toBe(201)
    expect(answer.text).toContain(`"parameters":${parameters}`)
    expect(answer.body.work).toMatchObject({
      id: expect.stringMatching(UUID),
      task: 'daily news',
      agent_type: 'echo',
      project_id: 'p1',
      user_id: 'local',
      frequency: 'daily',
      frequency_cron: '0 9 * * *',
      canonical: '0 9 * * *',
      timezone: 'Europe/Berlin',
      is_active: true,
      next_run_at: '2026-01-01T08:00:00.000Z',
      next_runs: [
        '2026-01-01T08:00:00.000Z',
        '2026-01-02T08:00:00.000Z',
        '2026-01-03T08:00:00.000Z',
      ],
      last_run_at: null,
      notes: [expect.stringContaining('09:00')],
      created_at: expect.stringMatching(INSTANT),
    })
    expect(answer.body.output).toMatchObject({
      work_id: answer.body.work.id,
      run_number: 1,
      status: 'pending',
      content: null,
      progress: null,
      file_url: null,
    })
  })

  it('wrong shapes are 422 with all errors, and write nothing', async () => {
    const reply = await get().call('POST', '/v1/work', {
      task: ' ',
      agent_type: 7,
      run_first: 'yes',
      wait_seconds: 61,
      parameters: [],
      user_id: 'a b',
      colour: 'red',
    })
    problem(reply, 422)
    for (const field of [
      'task',
      'agent_type',
      'run_first',
      'wait_seconds',
      'parameters',
      'user_id',
      'colour',
    ])
      expect(reply.body.errors.join('\n')).toContain(`body.${field}`)
    problem(await post({ task: 'x'.repeat(8193) }), 422)
    problem(await post({ project_id: 'x'.repeat(65) }), 422)
    problem(await get().call('PATCH', `/v1/work/${NOBODY}`, {}), 422)
    problem(await get().call('GET', '/v1/work?active=maybe'), 422)
    problem(await get().call('GET', '/v1/work?project_id=%00'), 400)
    expect(await get().query('select 1 from wakeful.work')).toEqual([])
  })

  it('broken rules are 400, all at once, with what would work', async () => {
    const reply = await post({
      agent_type: 'painting',
      frequency: 'often',
      parameters: { notify_session: 'eve:bot:t' },
    })
    problem(reply, 400)
    const text = reply.body.errors.join('\n')
    expect(text).toMatch(/agent_type: no executor "painting" .*there are .*echo/)
    expect(text).toContain('frequency: ')
    expect(text).toContain('parameters.notify_session: ')
    problem(await post({ timezone: 'Mars/Base' }), 400)
    problem(await post({ parameters: { notify_session: 'local:nobody:t' } }), 400)
    problem(await post({ parameters: { notify_session: 'local:echo:t' } }), 400)
    expect(await get().query('select 1 from wakeful.work')).toEqual([])
    expect(await get().query('select 1 from wakeful.events')).toEqual([])
  })

  it('nobody sends messages to an executor', async () => {
    problem(await get().call('POST', '/v1/sessions/local:echo:t/messages', { text: 'hi' }), 404)
  })

  it('invariant 12: foreign, unknown and malformed ids are 404 alike', async () => {
    const { body } = await post({ user_id: 'ann' })
    expect(body.work.user_id).toBe('ann')
    const paths = [`/v1/work/${body.work.id}`, `/v1/work/${NOBODY}`, '/v1/work/seven']
    for (const path of paths) {
      for (const [method, tail, sent] of [
        ['GET', '', undefined],
        ['GET', '/outputs', undefined],
        ['GET', '/outputs/1', undefined],
        ['PATCH', '', { is_active: false }],
        ['POST', '/run', undefined],
        ['DELETE', '', undefined],
      ] as const)
        problem(await get().call(method, `${path}${tail}`, sent, AS('bob')), 404)
    }
    expect((await get().call('GET', paths[0] ?? '', undefined, AS('ann'))).status).toBe(200)
    expect((await get().call('GET', '/v1/work', undefined, AS('bob'))).body.data).toEqual([])
    for (const number of ['0', '2', '-1', 'x', '99999999999'])
      problem(await get().call('GET', `${paths[0]}/outputs/${number}`), 404)
  })

  it('lists newest first, by page, by activity and by project', async () => {
    const ids: string[] = []
    for (const frequency of ['once', 'hourly', 'daily', 'once'])
      ids.unshift(
        (await post({ frequency, run_first: false, project_id: `p-${frequency}` })).body.work.id,
      )
    const list = async (query: string) => (await get().call('GET', `/v1/work?${query}`)).body
    const first = await list('limit=3')
    expect(first.data.map((w: Row) => w.id)).toEqual(ids.slice(0, 3))
    const second = await list(`limit=3&cursor=${first.next_cursor}`)
    expect(second.data.map((w: Row) => w.id)).toEqual(ids.slice(3))
    expect(second.next_cursor).toBeNull()
    expect((await list('active=true')).data.map((w: Row) => w.id)).toEqual(ids.slice(1, 3))
    expect((await list('active=false')).data).toHaveLength(2)
    expect((await list('project_id=p-once')).data).toHaveLength(2)
  })

  it('outputs are paged, newest first', async () => {
    const { work } = (await post({})).body
    for (let n = 0; n < 4; n++) await get().call('POST', `/v1/work/${work.id}/run`)
    const list = async (query: string) =>
      (await get().call('GET', `/v1/work/${work.id}/outputs?${query}`)).body
    const first = await list('limit=3')
    expect(first.data.map((o: Row) => o.run_number)).toEqual([5, 4, 3])
    const rest = await list(`limit=3&cursor=${first.next_cursor}`)
    expect(rest.data.map((o: Row) => o.run_number)).toEqual([2, 1])
    expect(rest.next_cursor).toBeNull()
  })

  it('waits for the output, with and without an Idempotency-Key, and not a moment longer', async () => {
    for (const headers of [{}, { 'idempotency-key': 'once-only' }]) {
      const asking = post({ wait_seconds: 60 }, headers as Record<string, string>)
      let done = false
      asking.finally(() => {
        done = true
      })
      while (!done) {
        await get().settle()
        await new Promise((next) => setImmediate(next))
      }
      const answer = await asking
      expect(answer.status).toBe(201)
      expect(answer.body.output).toMatchObject({ status: 'completed', content: 'do it' })
      expect(answer.body.work.last_run_at).toMatch(INSTANT)
    }
    const again = await post({ wait_seconds: 60 }, { 'idempotency-key': 'once-only' })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.body.output).toMatchObject({ status: 'completed' })
    expect(await get().query('select 1 from wakeful.work')).toHaveLength(2)
    // Nobody runs it: the answer comes when the time is up, with the output as it stands.
    const tired = await post({ wait_seconds: 0.2 })
    expect(tired.body.output.status).toBe('pending')
  })

  it('changes task and parameters for the runs to come', async () => {
    const { work } = (await post({ frequency: 'hourly', run_first: false })).body
    const changed = await get().call('PATCH', `/v1/work/${work.id}`, {
      task: 'do that',
      parameters: { b: 2, a: 1 },
    })
    expect(changed.status).toBe(200)
    expect(changed.text).toContain('"parameters":{"b":2,"a":1}')
    expect(changed.body.work).toMatchObject({ next_run_at: work.next_run_at, is_active: true })
    await get().advanceBy(3_600_000)
    const { outputs } = (await get().call('GET', `/v1/work/${work.id}`)).body
    expect(outputs[0]).toMatchObject({ content: 'do that', status: 'completed' })
    problem(await get().call('PATCH', `/v1/work/${work.id}`, { frequency: 'often' }), 400)
    problem(await get().call('PATCH', `/v1/work/${work.id}`, { agent_type: 'other' }), 422)
  })
})

describe('the phrases of the cases', () => {
  const cases = loadCases<{ text: string }[]>('frequency')

  eachStore('through POST /v1/work and through preview alike', (store) => {
    const { get, post } = open(store)
    it('rule 4: each is accepted with the same meaning, or refused with the same words', async () => {
      let accepted = 0
      for (const { text } of cases) {
        const asked = { frequency: text, timezone: 'America/New_York' }
        const preview = await get().call('POST', '/v1/schedules/preview', asked)
        const made = await post({ ...asked, run_first: false })
        expect(made.status, text).toBe(preview.status === 200 ? 201 : preview.status)
        if (preview.status !== 200) {
          expect(made.body.errors, text).toEqual(
            preview.body.errors.map((each: string) => `frequency: ${each}`),
          )
          continue
        }
        accepted++
        const { canonical, description, next, notes } = preview.body
        expect(made.body.work, text).toMatchObject({ canonical, description, next_runs: next })
        expect(made.body.work.notes, text).toEqual(notes)
      }
      expect(cases.length).toBeGreaterThan(50)
      expect(accepted).toBeGreaterThan(20)
    })
  })
})
