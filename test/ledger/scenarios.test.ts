/**
 * Invariant 11: every slot of every trigger ends in exactly one recorded outcome, and it is the one that recorders at the
 * channel, at the receiver and inside the agents saw. Many random lives at once, each of a user of their own, with
 * failures, gates, cancels, conditions, downtime, and processes that die with work in hand.
 */
import { randomInt } from 'node:crypto'
import { afterEach, expect, it } from 'vitest'
import { eachStore } from '../setup/stores.ts'
import { type House, openHouse, type Run, START } from './house.ts'
import { type Life, live, type Trigger } from './lives.ts'

/** On each store; `npm run scenarios` lives through more, others each time. */
const SOAK = process.env.WAKEFUL_SOAK !== undefined
const SCENARIOS = SOAK ? 5000 : 1000
const SEEDS = SOAK ? [randomInt(2 ** 31), randomInt(2 ** 31)] : [11, 12]
const TIMEOUT_MS = 1_200_000
const MINUTE = 60_000
const MINUTES = 120
/** Minutes between two looks at what the users do. */
const STEP = 10
/** By then every retry of what came due in the lives has been made. */
const DRAIN = 3 * 60 * MINUTE

interface Entry {
  readonly id: string
  readonly trigger: { readonly kind: string; readonly id: string | null; readonly name: string }
  readonly user_id: string
  readonly scheduled_for: string
  readonly at: string
  readonly outcome: string
  readonly reason: { readonly rule: string } | null
  readonly words: string
  readonly missed_count: number
  readonly turn?: object
  readonly effects: readonly object[]
  readonly repeats?: number
}

const open: House[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((house) => house.stop()))
})

/** A small generator with a seed, so that a failure can be had again. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

async function ledgerOf(house: House): Promise<Entry[]> {
  const all: Entry[] = []
  let cursor: string | undefined
  do {
    const page = (await house.call('get_ledger', {
      ...{ limit: 200, timezone: 'Europe/Berlin' },
      ...(cursor === undefined ? {} : { cursor }),
    })) as unknown as { data: Entry[]; next_cursor: string | null }
    all.push(...page.data)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return all
}

async function run(house: House, seed: number): Promise<Life[]> {
  const dice = random(seed)
  const lives = Array.from({ length: SCENARIOS }, (_, n) => live(house, `u${n}`, dice))
  let deaths = 0
  for (let minute = 0; minute < MINUTES; minute += STEP) {
    if (dice() < 0.7) {
      const moment = (['claimed', 'delivered', 'committed'] as const)[Math.floor(dice() * 3)]
      house.arm({ moment: moment ?? 'claimed', nth: Math.floor(dice() * 20) })
    }
    // Away for a while: nothing runs, slots pass. Not so long that they are gathered, as after a death: that is in test/people.
    if (dice() < 0.15 && house.deaths() === deaths) house.sleep(13 * MINUTE)
    deaths = house.deaths()
    await house.advanceTo(Math.max(house.now(), START + minute * MINUTE + 7_000))
    for (const life of lives) await life.act(minute, STEP)
    await house.advanceTo(house.now() + 16_000)
    for (const life of lives) await life.ask(minute, STEP)
  }
  for (const life of lives) await life.end()
  await house.advanceTo(house.now() + DRAIN)
  return lives
}

/** What the recorders say became of a slot, from what they saw alone. */
function seenOf(house: House, trigger: Trigger, slot: string): string[] {
  const runs = (house.recorder.runs.get(slot) ?? []).filter((each: Run) => each.committed)
  const last = runs.at(-1)
  if (house.recorder.heard.has(slot)) return ['delivered']
  if (last === undefined) return ['cancelled']
  const good = last.did === 'say' || last.did === 'silent'
  // The process that called may have died before it could write down the answer; then the owner cancelled.
  if (trigger.by === 'call') {
    const exhausted = last.did === 'terminal' || runs.length >= trigger.attemptsMax
    const answered = good ? 'delivered' : exhausted || trigger.firedNow ? 'failed' : 'cancelled'
    return trigger.cancelledAt === null ? [answered] : [answered, 'cancelled']
  }
  if (trigger.kind === 'work') return good ? ['delivered'] : ['failed']
  // Only a follow-up can be held back: what was promised has been heard.
  if (last.did === 'say') return trigger.kind === 'timer' ? ['suppressed'] : []
  if (last.did === 'silent') return ['silent']
  const fails = runs.filter(({ did }) => did === 'fail').length
  const exhausted = last.did === 'terminal' || fails >= trigger.attemptsMax
  if (exhausted || trigger.kind !== 'alarm' || trigger.cancelledAt === null) return ['failed']
  // Cancelled while it waited for its next attempt, or taken over by a wake that was asked for.
  return trigger.firedNow ? ['cancelled', 'failed'] : ['cancelled']
}

function slotOf({ trigger, scheduled_for }: Entry): string {
  return trigger.kind === 'timer' ? trigger.name : `${trigger.id} ${scheduled_for}`
}

function sentOf(entries: readonly Entry[]): string[] {
  return entries.filter(({ outcome }) => outcome === 'sent').map(slotOf)
}

/** Of a recurring trigger: its slots lie on its grid, and those between two of them are counted as missed by the first. */
function covered(trigger: Trigger, entries: readonly Entry[]): void {
  const { everyMs, anchor } = trigger
  if (everyMs === null || trigger.deleted) return
  const isRegular = (at: number) => at > anchor && (at - anchor) % everyMs === 0
  const regular = entries
    .filter((entry) => isRegular(Date.parse(entry.scheduled_for)))
    .toSorted((a, b) => Date.parse(a.scheduled_for) - Date.parse(b.scheduled_for))
  const place = (entry: Entry) => (Date.parse(entry.scheduled_for) - anchor) / everyMs
  regular.forEach((entry, index) => {
    const before = regular[index - 1]
    const expected = before === undefined ? 1 : place(before) + before.missed_count + 1
    expect(place(entry), `${trigger.kind} ${trigger.id}: ${JSON.stringify(regular)}`).toBe(expected)
  })
}

eachStore('the ledger of random lives', (store) => {
  const seed = SEEDS[store.name === 'pglite' ? 0 : 1] ?? 0
  it(`of ${SCENARIOS} users agrees with what was seen (seed ${seed})`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    const house = await openHouse(await store.database())
    open.push(house)
    const lives = await run(house, seed)
    expect(house.deaths()).toBeGreaterThan(3)
    const triggers = lives.flatMap((life) => life.triggers)
    // Those without a connection have not heard yet what was said to them; then they come back.
    const waiting = new Set(sentOf(await ledgerOf(house)))
    const offline = new Set(house.recorder.offline)
    const early = new Set(house.recorder.heard.keys())
    house.recorder.offline.clear()
    await house.advanceTo(house.now() + MINUTE)
    const late = [...house.recorder.heard.keys()].filter((slot) => !early.has(slot))
    expect(waiting).toEqual(new Set(late))
    expect(waiting.size).toBeGreaterThan(0)
    const entries = await ledgerOf(house)
    expect(sentOf(entries)).toEqual([])
    for (const entry of entries)
      if (waiting.has(slotOf(entry))) expect(offline.has(entry.user_id)).toBe(true)

    expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length)
    expect(entries.map(({ at }) => at)).toEqual(
      entries
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    )
    for (const entry of entries) expect(entry.words).toMatch(/^[A-Z].*\.$/)

    const byTrigger = new Map<string, Entry[]>()
    for (const entry of entries) {
      const key = entry.trigger.kind === 'timer' ? entry.trigger.name : (entry.trigger.id ?? 'gone')
      byTrigger.set(key, [...(byTrigger.get(key) ?? []), entry])
    }
    const counts: Record<string, number> = {}
    for (const trigger of triggers) {
      const own = byTrigger.get(trigger.id) ?? []
      const slots = own.filter(
        (entry) => entry.trigger.kind !== 'intent' || entry.repeats === undefined,
      )
      const single = trigger.watches ? slots : own
      const twice = single.filter((one) =>
        single.some((two) => two !== one && slotOf(two) === slotOf(one)),
      )
      expect(twice, 'two entries for one slot').toEqual([])
      for (const entry of slots) {
        const expected = seenOf(house, trigger, slotOf(entry))
        const why = `${JSON.stringify(entry)} ${JSON.stringify(house.recorder.runs.get(slotOf(entry)))} ${JSON.stringify(trigger)}`
        expect(expected, why).toContain(entry.outcome)
        if (entry.outcome === 'cancelled') expect(trigger.cancelledAt, why).not.toBeNull()
      }
      for (const entry of own) {
        counts[`${trigger.kind} ${entry.outcome}`] =
          (counts[`${trigger.kind} ${entry.outcome}`] ?? 0) + 1
        if (entry.repeats === undefined || trigger.watches) continue
        // A look that led to no event: nobody was run for it, and nothing was heard.
        expect(house.recorder.runs.has(slotOf(entry)), JSON.stringify(entry)).toBe(false)
      }
      covered(trigger, own)
    }
    // And nothing was seen that the ledger does not know.
    const known = new Set(entries.map(slotOf))
    const seen = [...house.recorder.runs.keys(), ...house.recorder.heard.keys()]
    expect(seen.filter((slot) => !known.has(slot))).toEqual([])
    for (const trigger of triggers)
      if (trigger.kind === 'timer') expect(byTrigger.get(trigger.id), trigger.id).toHaveLength(1)
    for (const [, times] of house.recorder.heard) expect(times).toBe(1)
    // Every kind of ending was among them, else this shows less than it says.
    for (const wanted of WANTED)
      expect(counts[wanted] ?? 0, JSON.stringify(counts)).toBeGreaterThan(0)
  })
})

const WANTED = [
  ...['timer delivered', 'timer silent', 'timer failed', 'timer cancelled', 'timer suppressed'],
  ...['alarm delivered', 'alarm silent', 'alarm failed', 'alarm cancelled'],
  ...['intent delivered', 'intent failed', 'intent condition_false'],
  ...['work delivered', 'work failed', 'work cancelled', 'intent expired'],
]
