/** Retention: old checkpoints go, the one a session stands on stays; an age, where set, clears what is done, into an archive first. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { prunerService } from '../../src/kernel/pruner.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const KEY = 'ann:bot:t1'
const DAY_MS = 86_400_000

type Row = Record<string, unknown>

eachStore('the pruner', (store) => {
  it('keeps the newest checkpoints of a session, and its state', async () => {
    const w = await world(store, {
      bot: (turn) => {
        turn.state.count = Number(turn.state.count ?? 0) + 1
      },
    })
    for (let n = 0; n < 8; n++) await w.say(KEY, `m${n}`)
    await w.settle()
    // The one the session stands on has, by a skewed clock, the smallest id and the oldest time.
    await w.query(
      `update wakeful.sessions set checkpoint_id = (select min(checkpoint_id) from wakeful.checkpoints)`,
    )
    const prune = prunerService({
      db: w.app.store.db,
      retention: { checkpointsKept: 3, keepMs: null },
    })
    expect((await prune.tick()).did).toBe(4)
    expect((await prune.tick()).did).toBe(0)
    const left = await w.query<{ checkpoint: string }>(
      'select checkpoint from wakeful.checkpoints order by created_at, checkpoint_id',
    )
    expect(left.map((row) => JSON.parse(row.checkpoint).count)).toEqual([1, 6, 7, 8])
    expect(await w.query('select 1 from wakeful.events')).toHaveLength(8)
  })

  it('with an age set, deletes done events, turns, effects and timers, and nothing that waits', async () => {
    const w = await world(store, {
      bot: (turn) => {
        turn.say('hello')
        turn.schedule('soon', { in: 1, cancelOnReply: true })
        turn.schedule('late', { in: 10 * 86_400, cancelOnReply: true })
        if (turn.event.type === 'timer') turn.cancel('soon')
      },
    })
    await w.say(KEY, 'hi')
    await w.advanceBy(5 * 86_400_000)
    const prune = prunerService({
      db: w.app.store.db,
      retention: { checkpointsKept: 20, keepMs: 86_400_000 },
    })
    while ((await prune.tick()).did > 0);
    expect(await w.query('select 1 from wakeful.events')).toHaveLength(0)
    expect(await w.query('select 1 from wakeful.turns')).toHaveLength(0)
    const effects = await w.query<{ status: string; type: string }>(
      'select distinct status, type from wakeful.effects',
    )
    expect(effects).toEqual([{ status: 'pending', type: 'send_message' }])
    const timers = await w.query<{ timer_id: string; status: string }>(
      'select timer_id, status from wakeful.autonomy_timers',
    )
    expect(timers).toEqual([{ timer_id: 'late', status: 'pending' }])
    await w.say(KEY, 'still there?')
    await w.settle()
    expect((await w.query<{ seq: number }>('select seq from wakeful.events'))[0]?.seq).toBe(3)
  })

  it('lets cancelled timers go after thirty days, also where no age is set', async () => {
    const w = await world(store, {
      bot: (turn) => {
        if (turn.event.seq === 1) turn.schedule('soon', { in: 1, cancelOnReply: true })
      },
    })
    await w.say(KEY, 'hi')
    await w.settle()
    await w.say(KEY, 'no need')
    await w.advanceBy(29 * DAY_MS)
    await w.app.engine.prune()
    expect(await w.query('select 1 from wakeful.autonomy_timers')).toHaveLength(1)
    await w.advanceBy(2 * DAY_MS)
    await w.app.engine.prune()
    expect(await w.query('select 1 from wakeful.autonomy_timers')).toHaveLength(0)
    expect(await w.query('select 1 from wakeful.events')).toHaveLength(2)
  })

  it('puts what goes into the archive first, by table and day, and it can be read back whole', async () => {
    const root = await mkdtemp(join(tmpdir(), 'wakeful-archive-'))
    const w = await world(
      store,
      { bot: (turn) => turn.say('hello “you” \\ 😀') },
      { env: { WAKEFUL_ARCHIVE: root, WAKEFUL_KEEP_DAYS: '2' }, startAt: '2026-01-01T23:00:00Z' },
    )
    await w.say(KEY, 'on the first')
    await w.advanceBy(2 * 3600_000)
    await w.say(KEY, 'on the second')
    await w.settle()
    const kept = await w.query<Row>('select * from wakeful.events order by seq')
    await w.advanceBy(5 * DAY_MS)
    await w.app.engine.prune()
    expect(await w.query('select 1 from wakeful.events')).toEqual([])
    const [installation = ''] = await readdir(root)
    const folder = join(root, installation, 'events')
    expect((await readdir(folder)).sort()).toEqual(['2026-01-01.jsonl', '2026-01-02.jsonl'])
    expect(await readdir(join(root, installation))).toEqual(['attempts', 'events'])
    for (const name of await readdir(folder)) {
      const lines = (await readFile(join(folder, name), 'utf8')).trim().split('\n')
      await w.query(
        `insert into wakeful.events select r.* from unnest($1::text[]) line,
           lateral json_populate_record(null::wakeful.events, line::json) r`,
        [lines],
      )
    }
    expect(await w.query<Row>('select * from wakeful.events order by seq')).toEqual(kept)
    await rm(root, { recursive: true })
  })

  it('removes nothing that the archive did not take', async () => {
    const w = await world(store, { bot: () => undefined })
    await w.say(KEY, 'hi')
    await w.advanceBy(5 * DAY_MS)
    const taken: string[] = []
    let works = false
    const archive = {
      append: async (table: string, _day: string, lines: readonly string[]) => {
        if (!works) throw new Error('the archive is away')
        taken.push(...lines.map(() => table))
      },
    }
    const retention = { checkpointsKept: 20, keepMs: DAY_MS, archive }
    const prune = prunerService({ db: w.app.store.db, retention })
    await expect(prune.tick()).rejects.toThrow('the archive is away')
    expect(await w.query('select 1 from wakeful.turns')).toHaveLength(1)
    works = true
    await prune.tick()
    expect(await w.query('select 1 from wakeful.turns')).toHaveLength(0)
    expect(taken.filter((table) => table === 'attempts')).toHaveLength(1)
  })
})
