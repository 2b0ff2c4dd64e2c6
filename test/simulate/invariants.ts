/** The invariants of ARCHITECTURE.md, by their numbers, as questions to two snapshots and to the witness. Answers with what is wrong. */
import { type Behaviour, behaviour } from './agents.ts'
import { POLICY } from './process.ts'
import type { EffectFact, Snapshot, TurnFact } from './snapshot.ts'
import type { Witness } from './witness.ts'

export function* wrongs(before: Snapshot, now: Snapshot, witness: Witness): Generator<string> {
  yield* witness.wrongs
  yield* logs(now)
  yield* heads(now)
  yield* turns(now)
  yield* messages(now)
  yield* gates(now)
  yield* slots(now)
  yield* timers(before, now)
  yield* acknowledged(before, now, witness)
  yield* outputs(now)
  yield* deferring(now)
}

function grouped<T, K>(rows: readonly T[], keyOf: (row: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group === undefined) groups.set(keyOf(row), [row])
    else group.push(row)
  }
  return groups
}

const by = <T extends { readonly key: string }>(rows: readonly T[]) =>
  grouped(rows, (row) => row.key)

/** 1: every log is 1, 2, 3 … and its head knows how far it goes. */
function* logs({ sessions, events }: Snapshot): Generator<string> {
  const of = by(events)
  for (const { key, last_seq } of sessions) {
    const seqs = (of.get(key) ?? []).map((event) => event.seq)
    const whole = seqs.length === last_seq && seqs.every((seq, n) => seq === n + 1)
    if (!whole) yield `1: ${key} is at ${last_seq} and its log is ${seqs.join(' ')}`
  }
}

/** 2: what waits is due, what is done is not. */
function* heads({ sessions, timers }: Snapshot): Generator<string> {
  const pending = new Set(timers.flatMap(({ id, status }) => (status === 'pending' ? id : [])))
  for (const { key, last_seq, done_seq, due, leased, in_flight } of sessions) {
    if (done_seq > last_seq) yield `2: ${key} has done ${done_seq} of ${last_seq}`
    if ((due !== null) !== done_seq < last_seq)
      yield `2: ${key} at ${done_seq} of ${last_seq} is due: ${due}`
    if (leased && due === null && in_flight === null) yield `2: ${key} is leased for nothing`
    if (in_flight !== null && !(leased && done_seq === last_seq && pending.has(in_flight)))
      yield `4: ${key} at ${done_seq} of ${last_seq} has ${in_flight} in flight`
  }
}

const ended = (turn: TurnFact) => turn.status !== 'retrying'

/** 2, 3, 5: each event has one end, in order, and the agent's state has seen exactly what was committed. */
function* turns(now: Snapshot): Generator<string> {
  const of = by(now.turns.filter(ended))
  // Told without the agent.
  const notices = new Set(
    now.events.flatMap(({ key, seq, type }) => (type === 'work' ? `${key} ${seq}` : [])),
  )
  for (const { key, done_seq, seen } of now.sessions) {
    const all = of.get(key) ?? []
    const seqs = all.map((turn) => turn.seq)
    if (seqs.length !== done_seq || !seqs.every((seq, n) => seq === n + 1))
      yield `2: ${key} has done ${done_seq} and ended ${seqs.join(' ')}`
    const kept = all.flatMap((turn) =>
      turn.status === 'committed' && turn.held === null && !notices.has(`${key} ${turn.seq}`)
        ? turn.seq
        : [],
    )
    // Where nothing was to be said, the agent may or may not have been asked.
    const dropped = new Set(all.flatMap((turn) => (turn.held === 'dropped' ? turn.seq : [])))
    const saw = (seen ?? []).filter((seq) => !dropped.has(seq))
    if (key.includes(':bot:') && saw.join() !== kept.join())
      yield `3: ${key} committed ${kept.join(' ')} and its state saw ${seen?.join(' ')}`
  }
}

/** 3, 6, 11a: a committed turn's messages are there as it wished them, of any other there are none. */
function* messages(now: Snapshot): Generator<string> {
  const kept = new Map(
    now.turns
      .filter((turn) => turn.status === 'committed' && turn.held !== 'later')
      .map((turn) => [`${turn.key} ${turn.seq}`, turn]),
  )
  const types = new Map(now.events.map((event) => [`${event.key} ${event.seq}`, event]))
  const said = grouped(now.effects, (effect) => `${effect.key} ${effect.seq}`)
  for (const [place, effects] of said)
    if (!kept.has(place)) yield `3: ${place} was not committed and has ${effects.length} effects`
  for (const [place, turn] of kept) {
    const event = types.get(place)
    if (!turn.key.includes(':bot:') || event === undefined || event.type === 'work') continue
    const wished = behaviour(turn.key, turn.seq, turn.attempt)
    const effects = said.get(place) ?? []
    const sent = effects.flatMap((effect) => effect.content ?? [])
    if (turn.held === 'dropped') {
      if (sent.length > 0) yield `3: ${place} was to say nothing and sent ${sent}`
      continue
    }
    const allowed =
      event.type === 'user_message'
        ? wished.says
        : wished.says.filter((_, n) => turn.allowed[n] === true)
    if (wished.ends !== 'well') yield `3: ${place} attempt ${turn.attempt} cannot have committed`
    if (event.type === 'digest' && wishesNothing(wished)) {
      // What several promised is said in plain words where the agent has none.
      if (sent.length !== 1 || !sent[0]?.startsWith(GATHERED)) yield `11a: ${place} sent ${sent}`
    } else if (sent.join() !== allowed.join())
      yield `3: ${place} sent ${sent} instead of ${allowed}`
    if ((event.type === 'alarm' || event.type === 'digest') && sent.length < wished.says.length)
      yield `11a: ${place} was promised and said ${sent.length} of ${wished.says.length}`
    const timers = effects.filter((effect) => effect.type === 'schedule_timer').length
    if (timers !== wished.followUps.length)
      yield `3: ${place} set ${timers} timers instead of ${wished.followUps.length}`
  }
}

const GATHERED = 'While you were not to be disturbed'
const wishesNothing = ({ says, followUps, cancels }: Behaviour) =>
  says.length === 0 && followUps.length === 0 && cancels === null

/** 7: between two turns over a person's messages never more follow-ups than the cap, never two within the cooldown. */
function* gates(now: Snapshot): Generator<string> {
  const spoken = by(now.events.filter((event) => event.type === 'user_message'))
  const done = new Set(now.turns.filter(ended).map((turn) => `${turn.key} ${turn.seq}`))
  for (const [key, effects] of by(now.effects.filter((effect) => effect.type === 'send_message'))) {
    const breaks = (spoken.get(key) ?? []).map((event) => event.seq)
    const stretch = (effect: EffectFact) =>
      breaks.filter((seq) => seq < effect.seq && done.has(`${key} ${seq}`)).length
    const own = effects.filter((effect) => effect.reason !== 'answer')
    for (const [, within] of grouped(own, stretch)) {
      const follows = within.filter((effect) => effect.reason === 'follow_up')
      if (follows.length > POLICY.maxConsecutive)
        yield `7: ${key} has ${follows.length} follow-ups in a row`
      for (const follow of follows)
        for (const earlier of within.slice(0, within.indexOf(follow)))
          if (follow.at - earlier.at < POLICY.cooldownMs)
            yield `7: ${key} followed up ${follow.at - earlier.at} ms after ${earlier.content}`
    }
  }
}

/** 4: a slot becomes an event once, a further attempt at it is a further attempt. */
function* slots({ events }: Snapshot): Generator<string> {
  const seen = new Set<string>()
  for (const { type, trigger_id, slot, attempt, key, seq } of events) {
    if (trigger_id === null || slot === null) continue
    const name = `${type} ${trigger_id} ${slot} ${attempt ?? ''}`
    if (seen.has(name)) yield `4: ${name} became an event again at ${key} ${seq}`
    seen.add(name)
  }
}

/** 8, and the order of instants: what one step has done to the timers of a session. */
function* timers(before: Snapshot, now: Snapshot): Generator<string> {
  const known = new Map(before.sessions.map((session) => [session.key, session.last_seq]))
  const pending = by(now.timers.filter((timer) => timer.status === 'pending'))
  for (const event of now.events) {
    if (event.seq <= (known.get(event.key) ?? 0)) continue
    const left = pending.get(event.key) ?? []
    if (event.type === 'user_message' && left.length > 0)
      yield `8: ${event.key} ${event.seq} was said and ${left[0]?.timer_id} still waits`
    if (event.type !== 'timer') continue
    const passed = left.find((timer) => timer.fire_at < (event.slot ?? 0))
    if (passed !== undefined)
      yield `4: ${event.key} ${event.seq} fired before ${passed.timer_id}, which is due sooner`
  }
}

/** 6, 9, 10: what was told to somebody stays true. */
function* acknowledged(before: Snapshot, now: Snapshot, witness: Witness): Generator<string> {
  const places = new Map(now.events.map((event) => [event.id, event]))
  for (const { key, id, seq } of witness.said) {
    const event = places.get(id)
    if (event?.key !== key || event.seq !== seq)
      yield `9: ${key} ${seq} was acknowledged and is lost`
  }
  const effects = new Map(now.effects.map((effect) => [effect.id, effect]))
  for (const { id, status } of before.effects) {
    const after = effects.get(id)
    if (after === undefined) yield `9: the effect ${id} is lost`
    else if (status === 'completed' && after.status !== 'completed')
      yield `6: the effect ${id} was completed and is ${after.status}`
  }
  for (const [id, content] of witness.frames)
    if (effects.get(id)?.content !== content) yield `6: the frame ${id} says ${content}`
  const fired = new Map<string, number>()
  for (const event of now.events)
    if (event.trigger_id !== null)
      fired.set(event.trigger_id, (fired.get(event.trigger_id) ?? 0) + 1)
  const alarms = new Map(now.alarms.map((alarm) => [alarm.id, alarm]))
  for (const [id, events] of witness.cancelled) {
    if (alarms.get(id)?.status !== 'cancelled')
      yield `10: the alarm ${id} was cancelled and is ${alarms.get(id)?.status}`
    if ((fired.get(id) ?? 0) > events) yield `10: the alarm ${id} was cancelled and fired`
  }
}

/** 11a: what is deferred waits for its moment or was released as an event, and was not deferred for nothing. */
function* deferring({ deferred, turns, sessions }: Snapshot): Generator<string> {
  const last = new Map(sessions.map((session) => [session.key, session.last_seq]))
  for (const { id, key, status, until, released_seq } of deferred) {
    if ((status === 'waiting') !== (until !== null)) yield `11a: ${id} is ${status} until ${until}`
    if (released_seq !== null && released_seq > (last.get(key) ?? 0))
      yield `11a: ${id} was released as ${key} ${released_seq}, which is not there`
  }
  const held = turns.filter((turn) => turn.held === 'later').length
  if (held > 0 && deferred.length === 0) yield `11a: ${held} turns were deferred and nothing is`
}

/** 4, 11: of each work runs are 1, 2, 3 …, one at a time, one for each slot. */
function* outputs({ outputs }: Snapshot): Generator<string> {
  for (const [work, runs] of grouped(outputs, (output) => output.work_id)) {
    if (!runs.every((run, n) => run.run_number === n + 1))
      yield `11: runs of ${work} are ${runs.map((run) => run.run_number).join(' ')}`
    if (runs.filter((run) => run.status === 'running').length > 1)
      yield `2: two runs of ${work} at once`
    const slots = runs.flatMap((run) => run.slot ?? [])
    if (new Set(slots).size !== slots.length) yield `4: a slot of ${work} ran twice`
  }
}

/** 6: over one connection messages come in the order they were said, each once. */
export function* outOfOrder(
  now: Snapshot,
  connections: readonly (readonly string[])[],
): Generator<string> {
  const places = new Map(now.effects.map((effect) => [effect.id, effect.position]))
  for (const ids of connections) {
    const came = ids.map((id) => places.get(id) ?? -1)
    const n = came.findIndex((place, nth) => nth > 0 && place <= (came[nth - 1] ?? 0))
    if (n > 0) yield `6: ${ids[n]} came after ${ids[n - 1]} over one connection`
  }
}

/** When all faults are over and time has passed: nothing is stuck, nothing is untold. */
export function* unfinished(now: Snapshot, witness: Witness, nowMs: number): Generator<string> {
  for (const { key, last_seq, done_seq, due } of now.sessions)
    if (due !== null && due <= nowMs) yield `stuck: ${key} has done ${done_seq} of ${last_seq}`
  for (const { key, timer_id, status, fire_at } of now.timers)
    if (status === 'pending' && fire_at <= nowMs) yield `stuck: timer ${timer_id} of ${key}`
  for (const { id, due, status } of now.alarms)
    if (status === 'active' && due !== null && due <= nowMs) yield `stuck: alarm ${id}`
  for (const { id, key, until } of now.deferred)
    if (until !== null && until <= nowMs) yield `stuck: ${id} is deferred in ${key}`
  for (const { work_id, run_number, status } of now.outputs)
    if (status !== 'completed' && status !== 'failed')
      yield `stuck: run ${run_number} of ${work_id}`
  for (const { id, type, status, content } of now.effects) {
    if (type !== 'send_message') continue
    if (status !== 'completed') yield `stuck: the message ${id} is ${status}`
    if (!witness.heard.has(content ?? '')) yield `6: nobody has heard ${content}`
  }
}
