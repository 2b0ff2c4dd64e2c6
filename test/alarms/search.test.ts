/** Searching alarms: in label and words, in any case, within a bound that the cursor goes beyond. */
import { expect, it } from 'vitest'
import { insertCopies } from '../setup/copies.ts'
import { problem } from '../setup/http.ts'
import { type Row, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

/** More than one search looks at. */
const MANY = 5_200

eachStore('searching alarms', (store) => {
  const get = sharedStage(store, {
    agents: { bot: () => undefined },
    work: { echo: async () => ({ title: '', content: '' }) },
  })
  const find = (rest: string, headers?: Record<string, string>) =>
    get().call('GET', `/v1/alarms?${rest}`, undefined, headers)
  const labels = (rows: readonly Row[]) => rows.map(({ label }) => label)

  it('finds by label and by words, in any case, beside the other filters', async () => {
    const common = { schedule: 'in 2 hours', wake_message: 'go' }
    await get().set({ ...common, label: 'Water the PLANTS' })
    await get().set({ ...common, label: 'Tea', wake_message: 'plants like it too' })
    const gone = await get().set({ ...common, label: '100% of plants_' })
    await get().call('DELETE', `/v1/alarms/${gone.id}`)
    await get().set({ ...common, label: 'plants of bob' }, { 'wakeful-act-as': 'bob' })
    const all = await find('q=plAnts')
    expect(labels(all.body.data)).toEqual([
      'plants of bob',
      '100% of plants_',
      'Tea',
      'Water the PLANTS',
    ])
    expect(labels((await find('q=plants&status=cancelled')).body.data)).toEqual(['100% of plants_'])
    expect(labels((await find('q=plants', { 'wakeful-act-as': 'bob' })).body.data)).toHaveLength(1)
    // Nothing in it is a pattern.
    expect(labels((await find('q=%25')).body.data)).toEqual(['100% of plants_'])
    expect(labels((await find('q=_')).body.data)).toEqual(['100% of plants_'])
    const first = await find('q=plants&limit=2')
    const second = await find(`q=plants&limit=2&cursor=${first.body.next_cursor}`)
    expect(labels([...first.body.data, ...second.body.data])).toEqual(labels(all.body.data))
    problem(await find('q='), 422)
    problem(await find(`q=${'x'.repeat(101)}`), 422)
  })

  it('looks at so many at a time, and goes on where it stopped', async () => {
    await get().set({ schedule: 'in 2 hours', wake_message: 'needle', label: 'first of all' })
    await insertCopies(get().query, {
      table: 'alarms',
      where: "a.wake_message = 'needle'",
      numbers: [1, MANY],
      changes: {
        id: 'gen_random_uuid()',
        delivery_id: 'gen_random_uuid()',
        wake_message: "'hay'",
        created_at: "a.created_at + n * interval '1 ms'",
      },
    })
    const first = await find('q=needle')
    expect(first.body.data).toEqual([])
    const second = await find(`q=needle&cursor=${first.body.next_cursor}`)
    expect(labels(second.body.data)).toEqual(['first of all'])
    expect(second.body.next_cursor).toBeNull()
  })

  it('what may be named here is told', async () => {
    const { body } = await get().call('GET', '/v1/capabilities')
    expect(body).toEqual({
      agents: ['bot'],
      agent_types: expect.arrayContaining(['echo']),
      channels: [],
    })
  })
})
