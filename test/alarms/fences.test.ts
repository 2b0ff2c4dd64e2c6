/**
 * Invariant 5 within one process: a lease runs out under a slow one, the same process takes the row up
 * again, and both attempts end in the same commit. Only the one that holds the lease may write.
 */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { alarmTrigger, alarmWakes } from '../../src/features/alarms/trigger.ts'
import { claimTurns } from '../../src/features/sessions/rows.ts'
import { commitTurns, type Finished } from '../../src/kernel/commit.ts'
import { type Row, type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const LEASE_MS = 1000
const POLICY = { autonomy: true, maxConsecutive: 3, cooldownMs: 15_000 }
const FAILED = {
  cause: 'agent_error',
  terminal: true,
  retryAfterMs: 0,
  text: 'the lost attempt',
} as const

eachStore('two attempts in one commit', (store) => {
  const shared = sharedStage(store, { env: { WAKEFUL_WAKE_URL: 'http://127.0.0.1:9/' } })

  async function claimed(s: Stage): Promise<Omit<Finished, 'result' | 'failure'>> {
    const token = randomUUID()
    const { turns } = await claimTurns(s.app.store.db, 10, LEASE_MS, token, ['bot'])
    const [claim] = turns
    if (claim === undefined) throw new Error('nothing was claimed')
    return { claim, token }
  }

  function result(claim: Finished['claim']): Finished['result'] {
    const id = randomUUID()
    const point = { threadId: claim.session_key, ns: '', id, parentId: null, type: 'state' }
    return { wishes: [], checkpointId: id, points: [{ ...point, checkpoint: '{}', metadata: {} }] }
  }

  it.each([
    ['the lost one first', false],
    ['the lost one last', true],
  ])('a turn: %s', async (_, turned) => {
    const s = shared()
    const alarm = await s.set({ kind: 'once', delay_seconds: 60, agent_id: 'bot' })
    s.sleep(60_000)
    await alarmTrigger.promote(s.app.store.db)
    const first = await claimed(s)
    s.sleep(LEASE_MS)
    const second = await claimed(s)
    const both: Finished[] = [
      { ...first, result: null, failure: FAILED },
      { ...second, result: result(second.claim), failure: null },
    ]
    const triggers = new Map([[alarmTrigger.type, alarmTrigger]])
    const batch = turned ? both.toReversed() : both
    const answers = await commitTurns(s.app.store.db, batch, { policy: POLICY, triggers })
    const said = (turned ? answers.toReversed() : answers).map((each) => each.status)
    expect(said).toEqual(['lost', 'committed'])
    const turns = await s.query<Row>('select attempt, status from wakeful.turns')
    expect(turns).toEqual([{ attempt: 2, status: 'committed' }])
    expect(await s.get(alarm.id)).toMatchObject({ status: 'fired', failure_count: 0 })
  })

  it.each([
    ['the lost one first', false],
    ['the lost one last', true],
  ])('a wake: %s', async (_, turned) => {
    const s = shared()
    const alarm = await s.set({ kind: 'once', delay_seconds: 60 })
    s.sleep(60_000)
    const source = alarmWakes({ url: 'http://127.0.0.1:9/', bearer: null })
    const claim = async () => {
      const token = randomUUID()
      const [call] = (await source.claim(s.app.store.db, 10, LEASE_MS, token)).calls
      if (call === undefined) throw new Error('nothing was claimed')
      return { call, token }
    }
    const first = await claim()
    s.sleep(LEASE_MS)
    const second = await claim()
    const lost = {
      taken: false,
      error: 'the lost attempt',
      terminal: true,
      retryAfter: null,
    } as const
    const both = [
      { ...first, attempt: lost },
      { ...second, attempt: { taken: true } as const },
    ]
    const batch = turned ? both.toReversed() : both
    const ours = await s.app.store.db.tx((tx) => source.settle(tx, batch))
    expect(turned ? ours.toReversed() : ours).toEqual([false, true])
    const after = await s.get(alarm.id)
    expect(after).toMatchObject({ status: 'fired', failure_count: 0 })
    expect(after).not.toHaveProperty('last_error')
  })
})
