/** One forecast: loads the copy, applies the draft, and moves the clock from instant to instant until the end or a limit. */
import type { Context, Operation } from '../../../src/api/contract.ts'
import { perform } from '../../../src/api/perform.ts'
import type { PackApp } from '../../../src/app/pack.ts'
import { Refusal } from '../../../src/core/errors.ts'
import { newId } from '../../../src/core/ids.ts'
import { ownerDidOf } from '../../../src/core/session.ts'
import { ownedBy } from '../../../src/store/owned.ts'
import { type Copy, writeCopy } from './copy.ts'
import type { ForecastRun } from './forecast-pool.ts'
import { type Clock, type Played, play, type Stretch } from './play.ts'
import { agentSetOf, rolesOf } from './recorder.ts'

/** A trigger that fires every second would be a million slots in two weeks. */
export const OCCURRENCES_MAX = 2_000
/** By the machine's clock. */
const TIME_MAX_MS = 20_000
/** The time limit while other forecasts wait. */
const SHARED_MAX_MS = 3_000

/** An operation with its checked input. */
export interface Asked {
  readonly op: Operation
  readonly body: unknown
  /** The path in the request, for errors. */
  readonly where: string
}

export interface Plan {
  readonly userId: string
  readonly from: Date
  readonly to: Date
  readonly copy: Copy
  readonly draft: readonly Asked[]
  /** Soonest first. */
  readonly facts: readonly (Asked & { readonly at: Date })[]
  readonly run: boolean
}

export interface Held {
  /** How far it came. */
  readonly to: Date
  readonly cut: 'occurrences' | 'time' | null
  /** The triggers that the draft created. */
  readonly drafted: ReadonlySet<string>
}

export async function hold(
  app: PackApp,
  ctx: Context,
  plan: Plan,
  room: ForecastRun,
): Promise<Held> {
  const { store, clock } = room
  clock.now = plan.from
  await writeCopy(store.db, plan.copy)
  const kernel = ctx.kernel.sandbox(store)
  try {
    const inside = insideOf(ctx, kernel, plan.userId, clock)
    const drafted = new Set<string>()
    for (const asked of plan.draft) drafted.add(idIn(await ask(inside, asked)))
    const roles = rolesOf(
      app.agents,
      ['alarms', 'scheduled_intents', 'sessions'].flatMap((t) => namesIn(plan.copy, t, 'agent_id')),
      new Set([...ctx.kernel.work.types, ...namesIn(plan.copy, 'work', 'agent_type')]),
    )
    const until = bounded(playerOf(app, ctx, room, plan.run), clock, {
      ...{ roles, setting: { policy: kernel.policy, wakesByUrl: kernel.wakesByUrl } },
    })
    let cut: Held['cut'] = null
    for (const fact of plan.facts) {
      cut = await until(fact.at)
      if (cut !== null) break
      await ask(inside, fact)
    }
    cut ??= await until(plan.to)
    return { to: clock.now, cut, drafted }
  } finally {
    await kernel.writes.idle()
  }
}

/** Forecasts with agents run in this process; all others in that of the store. */
function playerOf(app: PackApp, ctx: Context, room: ForecastRun, run: boolean): Player {
  const signal = AbortSignal.any([ctx.signal(), room.signal])
  if (!run) return (stretch) => room.play(stretch, signal)
  return (stretch) =>
    play(stretch, {
      ...{ store: room.store, clock: room.clock, cast: agentSetOf(stretch.roles, app.agents) },
      brokenOff: () => signal.aborted,
      othersWait: room.othersWait,
      trouble: app.meter.trouble,
    })
}

type Player = (stretch: Stretch) => Promise<Played>

/** Applies the draft with the rights of a service: a caller that may forecast may try a change that it may not store. */
function insideOf(
  ctx: Context,
  kernel: Context['kernel'],
  userId: string,
  clock: Clock,
): () => Context {
  const { agentId } = ctx.actor
  const actor = {
    ...({ role: 'service', userId, agentId, keyId: null, actAs: false } as const),
    ownerDid: ctx.actor.ownerDid ?? ownerDidOf(userId),
  }
  const whole = kernel.store.db
  const db = ownedBy(whole, userId, agentId)
  return () => ({
    ...{ db, whole, kernel, actor, now: clock.now, requestId: newId(), traceparent: null },
    signal: ctx.signal,
  })
}

async function ask(inside: () => Context, { op, body, where }: Asked): Promise<unknown> {
  try {
    const answer = await perform(op, inside(), { params: undefined, query: undefined, body })
    return answer.body
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Refusal(
      error.code,
      error.errors.map((text) => `${where}.${text}`),
    )
  }
}

function idIn(body: unknown): string {
  const { id, work } = body as { id?: string; work?: { id: string } }
  return id ?? work?.id ?? ''
}

/** Moves the clock on, within the limits of the whole forecast. */
function bounded(
  player: Player,
  clock: Clock,
  about: Pick<Stretch, 'roles' | 'setting'>,
): (to: Date) => Promise<Held['cut']> {
  const begunMs = performance.now()
  let promotedMax = OCCURRENCES_MAX
  return async (to) => {
    const passedMs = performance.now() - begunMs
    const end = await player({
      ...{ ...about, from: clock.now, to, promotedMax },
      timeMaxMs: TIME_MAX_MS - passedMs,
      sharedMaxMs: SHARED_MAX_MS - passedMs,
    })
    promotedMax -= end.promoted
    clock.now = end.to
    if (end.cut === 'broken off') throw new Refusal('unavailable', 'the forecast was cancelled')
    return end.cut
  }
}

function namesIn(copy: Copy, table: string, column: string): string[] {
  return (copy.get(table) ?? []).flatMap((row) => {
    const name = (JSON.parse(row) as Readonly<Record<string, unknown>>)[column]
    return typeof name === 'string' ? [name] : []
  })
}
