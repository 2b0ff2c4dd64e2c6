/** Alarms and intents whose sessions are leased with their promotion: as if they had been promoted and then claimed. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { alarmTrigger } from '../../src/features/alarms/trigger.ts'
import { intentTrigger } from '../../src/features/intents/trigger.ts'
import { claimTurns } from '../../src/features/sessions/rows.ts'
import type { CapacityGrant, Trigger } from '../../src/kernel/trigger.ts'
import type { Stage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { type Intents, intentsStage, MINUTE } from './intents-stage.ts'

const LEASE_MS = 1000

interface Kind {
  readonly trigger: Trigger
  readonly waitMs: number
  /** Due after that, in a conversation of the agent. */
  set(on: Intents, conversation: string, agentId?: string): Promise<unknown>
}

const KINDS: readonly Kind[] = [
  {
    trigger: alarmTrigger,
    waitMs: MINUTE,
    set: ({ s }, conversation_id, agent_id = 'bot') =>
      s.set({
        ...{ kind: 'once', delay_seconds: 60, agent_id, conversation_id },
        ...{ label: 'te"a', payload: { b: 1 } },
      }),
  },
  {
    trigger: intentTrigger,
    waitMs: 60 * MINUTE,
    set: ({ make }, thread_id, agent_id = 'bot') =>
      make({
        ...{
          user_id: 'local',
          intent_name: 'often',
          trigger_type: 'interval',
          action_context: 'look "here"',
        },
        ...{ trigger_schedule: { interval_minutes: 60 }, agent_id, thread_id },
      }),
  },
]

eachStore('leased with their promotion', (store) => {
  const shared = intentsStage(store, {
    agents: { bot: () => undefined, other: () => undefined },
  })
  const lent = (about: Partial<CapacityGrant> = {}): CapacityGrant => ({
    ...{ leaseMs: LEASE_MS, token: randomUUID(), agentIds: ['bot'], places: 10, together: false },
    ...about,
  })
  const promote = (s: Stage, { trigger }: Kind, about: Partial<CapacityGrant> = {}) =>
    trigger.promote(s.app.store.engine, false, lent(about))
  const claim = (s: Stage) =>
    claimTurns(s.app.store.engine, 10, LEASE_MS, randomUUID(), ['bot', 'other'])
  const keys = (turns: readonly { session_key: string }[] = []) =>
    turns.map((turn) => turn.session_key).toSorted()

  for (const kind of KINDS) {
    const { type } = kind.trigger

    it(`invariants 1, 2 and 4: an idle session of an ${type} comes with what a claim would have brought, and is nobody else’s`, async () => {
      const on = await shared()
      const { s } = on
      await s.call('PUT', '/v1/people/local', { timezone: 'Europe/Berlin' })
      await kind.set(on, 'a')
      await kind.set(on, 'a')
      await kind.set(on, 'b')
      s.sleep(kind.waitMs)
      const { promoted, turns = [] } = await promote(s, kind)
      expect(promoted).toBe(3)
      expect(keys(turns)).toEqual(['local:bot:a', 'local:bot:b'])
      expect((await claim(s)).turns).toEqual([])
      // When nobody ends it, it is claimed as after any death: the same but for the lease.
      s.sleep(LEASE_MS)
      const again = (await claim(s)).turns
      expect(keys(again)).toEqual(keys(turns))
      for (const turn of turns) {
        const found = again.find((other) => other.session_key === turn.session_key)
        expect(turn).toMatchObject({ seq: 1, type, deaths: 0 })
        for (const [name, value] of Object.entries(found ?? {}))
          if (!['now', 'deaths', 'done_seq', 'next_ms'].includes(name))
            expect([name, turn[name as keyof typeof turn]]).toEqual([name, value])
        expect(found?.deaths).toBe(1)
      }
    })

    it(`rule 49: an ${type} of a person who holds more than their share is only promoted`, async () => {
      const on = await shared()
      await kind.set(on, 'a')
      on.s.sleep(kind.waitMs)
      const { promoted, turns } = await promote(on.s, kind, { notUserIds: ['local'] })
      expect({ promoted, turns }).toEqual({ promoted: 1, turns: [] })
      expect(keys((await claim(on.s)).turns)).toEqual(['local:bot:a'])
    })

    it(`invariant 2: an ${type} of a session that is ahead, and of an agent unknown here, is only promoted`, async () => {
      const on = await shared()
      const { s } = on
      await kind.set(on, 'a')
      await kind.set(on, 'a', 'other')
      s.sleep(kind.waitMs)
      expect(keys((await promote(s, kind)).turns)).toEqual(['local:bot:a'])
      const held = 'select session_key, claim_token, leased_until from wakeful.sessions order by 1'
      const before = await s.query(held)
      // It runs: what comes due meanwhile waits behind it.
      await kind.set(on, 'a')
      s.sleep(kind.waitMs)
      const second = await promote(s, kind, { leaseMs: 10 * MINUTE })
      expect(second).toMatchObject({ promoted: 1, turns: [] })
      expect(await s.query(held)).toEqual(before)
    })

    it(`no more sessions of an ${type} are leased than there are places`, async () => {
      const on = await shared()
      const { s } = on
      for (const conversation of ['a', 'b', 'c']) await kind.set(on, conversation)
      s.sleep(kind.waitMs)
      const { promoted, turns } = await promote(s, kind, { places: 2 })
      expect([promoted, turns?.length]).toEqual([3, 2])
      expect((await claim(s)).turns).toHaveLength(1)
    })

    it(`an ${type} that is late waits for others of its session that may be late as well`, async () => {
      const on = await shared()
      const { s } = on
      await kind.set(on, 'a')
      s.sleep(kind.waitMs + 30 * MINUTE)
      expect(await promote(s, kind)).toMatchObject({ promoted: 1, turns: [] })
      expect(keys((await claim(s)).turns)).toEqual(['local:bot:a'])
    })
  }
})
