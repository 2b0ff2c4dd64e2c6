/** The switch: stop a trigger, an agent, a person or everything; see what is held; let it go or drop it. */

import { z } from 'zod'
import {
  type Across,
  type Actor,
  type Context,
  flag,
  idParam,
  listQuery,
  newestOf,
  notify,
  operation,
  pageOf,
} from '../../api/contract.ts'
import { everywhere } from '../../api/shards.ts'
import { Refusal } from '../../core/errors.ts'
import { isUuid, newId } from '../../core/ids.ts'
import { KEY_PART } from '../../core/session.ts'
import { readOne } from '../../store/page.ts'
import { endStop, heldBy, insertStop, STOPS, type StopRow } from './stop-rows.ts'
import { STOP_ENDS, STOP_LEVELS, type StopEnd, stopWords } from './stops.ts'

const REASON_MAX = 500
const TARGET_MAX = 128
/** Of what is held, as many are shown. */
const HELD_SHOWN = 100

export const stopView = z.object({
  id: z.uuid(),
  level: z.enum(STOP_LEVELS),
  target: z.string().nullable().describe('The agent, the person or the id of the trigger.'),
  reason: z.string(),
  made_by: z.string(),
  created_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
  ended: z.enum(STOP_ENDS).nullable(),
  ended_by: z.string().nullable(),
  words: z.string(),
})

const held = z.object({
  session_key: z.string(),
  kind: z.string().describe('Of the event that is next, a user_message among them.'),
  trigger_id: z.uuid().nullable(),
  waiting: z.int().describe('Events of the session that wait.'),
  since: z.iso.datetime(),
})

export function stopViewOf(row: StopRow) {
  return { ...row, words: wordsOf(row) }
}

function wordsOf(stop: StopRow): string {
  const what = stopWords(stop)
  if (stop.ended === null) return `Stopped: ${what}. Nothing of it runs until it is resumed.`
  return stop.ended === 'resumed'
    ? `Resumed: ${what}. What was held runs.`
    : `Ended: ${what}. What was due while it was stopped is dropped; messages of people are answered.`
}

const roles = ['admin', 'service'] as const

const makerOf = ({ keyId, role }: Actor) => keyId ?? role

const stopOp = operation({
  name: 'stop',
  method: 'POST',
  path: '/v1/stops',
  tag: 'Stops',
  summary: 'Stop a trigger, an agent, a person or everything: the switch',
  description:
    'Bites within a second in every process. Turns that run are aborted and commit nothing; their events wait. Messages of people are accepted and held. Stopping the same again answers 200 with the stop that stands.',
  body: z
    .object({
      level: z.enum(STOP_LEVELS),
      target: z
        .string()
        .min(1)
        .max(TARGET_MAX)
        .optional()
        .describe(
          'An agent, a user id or the id of an alarm, intent or work; none for everything.',
        ),
      reason: z.string().max(REASON_MAX).default('').describe('For those who find it.'),
    })
    .refine(
      ({ level, target }) => (level === 'everything') === (target === undefined),
      'takes a target for every level but everything',
    ),
  status: 201,
  repeats: true,
  owner: 'nobody',
  roles,
  output: stopView,
  async run(ctx, { body }) {
    const { level, reason } = body
    const target = body.target ?? null
    if (level === 'trigger' && !isUuid(target ?? ''))
      throw new Refusal('rule', 'target: takes the id of an alarm, intent or work')
    if ((level === 'agent' || level === 'user') && !KEY_PART.test(target ?? ''))
      throw new Refusal(
        'rule',
        `target: is not the name of ${level === 'agent' ? 'an agent' : 'a user'}`,
      )
    const stop = { id: newId(), level, target, reason, madeBy: makerOf(ctx.actor) }
    const { row, fresh } = await insertStop(ctx.db, stop)
    notify(ctx, 'stops')
    return { ...(fresh ? {} : { status: 200 }), body: stopViewOf(row), about: { id: row.id } }
  },
})

const listOp = operation({
  name: 'list_stops',
  method: 'GET',
  path: '/v1/stops',
  tag: 'Stops',
  summary: 'What is stopped, newest first',
  query: listQuery({ max: 500, default: 100 }).extend({
    ended: flag.optional().describe('Those that have ended, too.'),
  }),
  owner: 'nobody',
  roles,
  output: pageOf(stopView),
  run: (ctx, { query }) => {
    const where = { '(ended_at is null)': query.ended === true ? null : true }
    return newestOf(ctx.db, STOPS, query, { where }, stopViewOf)
  },
})

/** The first shard knows the stop, each shard what it holds there. */
const ofAllShards: Across = async (shards, ask) => {
  const answers = await everywhere(shards, ask)
  const bodies = answers.map(({ body }) => body as { held: { since: Date }[] })
  const rows = bodies.flatMap(({ held }) => held)
  const first = rows.toSorted((a, b) => a.since.getTime() - b.since.getTime())
  return { body: { ...bodies[0], held: first.slice(0, HELD_SHOWN) } }
}

const getOp = operation({
  name: 'get_stop',
  method: 'GET',
  path: '/v1/stops/{id}',
  tag: 'Stops',
  summary: 'A stop, and what it holds',
  description: `At most ${HELD_SHOWN} of what waits, longest first.`,
  params: z.object({ id: idParam }),
  across: ofAllShards,
  owner: 'nobody',
  roles,
  output: stopView.extend({ held: z.array(held) }),
  async run(ctx, { params }) {
    const row = known(await readOne(ctx.db.home ?? ctx.db, STOPS, { id: params.id }), params.id)
    const held = row.ended_at === null ? await heldBy(ctx.db, row, HELD_SHOWN) : []
    const lines = held.map((each) => `- ${each.session_key}: ${each.kind}, ${each.waiting} waiting`)
    const count = held.length === 0 ? 'Nothing is held.' : `It holds ${held.length}:`
    const words = [`${wordsOf(row)} ${count}`, ...lines].join('\n')
    return { body: { ...stopViewOf(row), held, words } }
  },
})

function known(row: StopRow | null, id: string): StopRow {
  if (row === null) throw new Refusal('not_found', `there is no stop ${id}`)
  return row
}

async function end(ctx: Context, id: string, how: StopEnd) {
  const row = known(await endStop(ctx.db, id, { how, by: makerOf(ctx.actor) }), id)
  notify(ctx, 'stops')
  return { body: stopViewOf(row) }
}

const releaseOp = operation({
  name: 'resume_stop',
  method: 'POST',
  path: '/v1/stops/{id}/resume',
  tag: 'Stops',
  summary: 'End a stop; what it held runs',
  params: z.object({ id: idParam }),
  owner: 'nobody',
  roles,
  output: stopView,
  run: (ctx, { params }) => end(ctx, params.id, 'resumed'),
})

const dropOp = operation({
  name: 'drop_stop',
  method: 'POST',
  path: '/v1/stops/{id}/drop',
  tag: 'Stops',
  summary: 'End a stop; the fires it held end without a run, recorded as such',
  description:
    'What people said is answered all the same. Recurring triggers go on with their next time.',
  params: z.object({ id: idParam }),
  owner: 'nobody',
  roles,
  output: stopView,
  run: (ctx, { params }) => end(ctx, params.id, 'dropped'),
})

export const stops = [stopOp, listOp, getOp, releaseOp, dropOp]
