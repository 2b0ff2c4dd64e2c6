/** Work: a task that an executor does once, or again and again, and what came of each run. */

import { z } from 'zod'
import {
  type Answer,
  afterCommit,
  type Context,
  flag,
  idParam,
  listQuery,
  mergedPages,
  newestOf,
  notify,
  operation,
  pageFrom,
  pageOf,
} from '../../api/contract.ts'
import { lineageFor, withinPending } from '../../api/lineage.ts'
import { Refusal } from '../../core/errors.ts'
import { INT_MAX, keyPart, shortName } from '../../core/fields.ts'
import { newId } from '../../core/ids.ts'
import { LOCAL_USER } from '../../core/session.ts'
import { readSpread, spreadField } from '../../core/spread.ts'
import { notesText, sentences } from '../../core/words.ts'
import type { Db } from '../../store/db.ts'
import { databaseNow } from '../../store/due.ts'
import { askedZone } from '../people/zone-operations.ts'
import { newWork, runsAtOnce, workErrors } from './draft.ts'
import { workFields } from './fields.ts'
import {
  deleteWork,
  getOutput,
  getWork,
  insertWork,
  listOutputs,
  type OutputRow,
  outputById,
  updateWork,
  WORKS,
  type WorkRow,
  waitingRuns,
} from './rows.ts'
import { changeWork, notifySession, planWork, WAIT_MAX_SECONDS, WAITING_MAX } from './rules.ts'
import {
  outputSchema,
  outputView,
  outputWords,
  queueRun,
  workRules,
  workSchema,
  workView,
  workWords,
} from './run-operations.ts'

const OUTPUTS = { max: 100, default: 20 } as const

const body = z.object({
  ...workFields,
  spread: spreadField.optional(),
  user_id: keyPart.optional().describe('Whose work it is; for admin and service.'),
  wait_seconds: z
    .number()
    .min(0)
    .max(WAIT_MAX_SECONDS)
    .default(0)
    .describe('How long the answer may wait for the first output to end.'),
})

const params = z.object({ id: idParam })

function notFound(id: string): Refusal {
  return new Refusal('not_found', `there is no work ${id}`)
}

/** A user's own work; everybody's for admins and services that act for no user. */
async function found(ctx: Context, id: string, db: Db = ctx.db, lock = false): Promise<WorkRow> {
  const row = await getWork(db, ctx.actor.userId, id, lock)
  if (row === null) throw notFound(id)
  return row
}

const createWorkOp = operation({
  name: 'create_work',
  method: 'POST',
  path: '/v1/work',
  tag: 'Work',
  summary: 'Have something done, once or again and again',
  description:
    'One-time work and `run_first` start at once; `wait_seconds` lets the answer wait for that output. Each run leaves one output.',
  body,
  opaque: ['parameters'],
  status: 201,
  creates: true,
  owner: 'body',
  roles: ['admin', 'service', 'agent'],
  output: z.object({ work: workSchema, output: outputSchema.optional(), words: z.string() }),
  async run(ctx, { body }) {
    const userId = ctx.owner ?? LOCAL_USER
    const { user_id = userId, wait_seconds, ...said } = body
    if (user_id !== userId)
      throw new Refusal(
        'forbidden',
        `user_id: these credentials belong to ${userId}; leave user_id out`,
      )
    const once = said.frequency.trim().toLowerCase() === 'once'
    const { timezone, followsZone } = await askedZone(
      ctx,
      userId,
      said.timezone,
      once ? (ctx.kernel.policy.timezone ?? 'UTC') : undefined,
    )
    const fields = { ...said, timezone }
    const id = newId()
    const { agentId } = ctx.actor
    const whom = { userId, agentId: agentId ?? notifySession(fields, userId)?.agentId ?? null }
    const create = async (tx: Db) => {
      const errors = workErrors(fields, workRules(ctx, userId))
      const spread = readSpread(said.spread, userId, id, errors)
      const plan = planWork({ ...fields, spread }, await databaseNow(tx), errors)
      if (plan === null || errors.length > 0) throw new Refusal('rule', errors)
      const lineage = await lineageFor(ctx, userId, whom.agentId)
      const made = { traceparent: ctx.traceparent ?? null, lineage }
      const draft = { id, userId, agentId, fields, followsZone, ...made }
      const [row] = await insertWork(tx, [newWork(draft, plan)])
      if (row === undefined) throw new Error(`work ${id} was not written`)
      const output = runsAtOnce(plan, fields) ? await queueRun(ctx, tx, row) : null
      return { row, notes: plan.notes, output }
    }
    const made = await withinPending(ctx, whom, () => ctx.db.tx(create))
    const { row, output, notes } = made
    notify(ctx, output === null ? 'clock' : 'turns')
    if (output !== null && row.is_active) notify(ctx, 'clock')
    const answer = (output: OutputRow | null, row: WorkRow): Answer => ({
      body: {
        work: workView(row, notes),
        output: output === null ? undefined : outputView(output),
        words: sentences(
          workWords(row, 'was created and'),
          output !== null && outputWords(output, row.now),
          notesText(notes),
        ),
      },
      about: { id, owner: userId },
    })
    if (output === null || wait_seconds === 0) return answer(output, row)
    const later = async () => {
      await ctx.kernel.work.ended(
        { bucket: row.bucket, id: output.id },
        wait_seconds * 1000,
        ctx.signal(),
      )
      const db = ctx.kernel.work.dbOf(row.bucket)
      const [now, ended] = [
        await getWork(db, null, id),
        await outputById(db, row.bucket, output.id),
      ]
      return answer(ended ?? output, now ?? row)
    }
    // Within the transaction of an Idempotency-Key nothing runs before it commits, so its caller waits.
    return ctx.inTransaction ? { ...answer(output, row), later } : later()
  },
})

const active = flag
  .optional()
  .describe('Only work that will run on its schedule, or only work that will not.')

const listWorkOp = operation({
  name: 'list_work',
  method: 'GET',
  path: '/v1/work',
  tag: 'Work',
  summary: 'Work, newest first',
  query: listQuery({ max: 500, default: 100 }).extend({
    user_id: keyPart.optional().describe('Whose. Admin and service only.'),
    agent_id: shortName.optional().describe('Only what this agent has set.'),
    active,
    project_id: workFields.project_id,
  }),
  across: mergedPages,
  owner: 'query',
  roles: ['admin', 'service', 'agent', 'user'],
  output: pageOf(workSchema),
  async run(ctx, { query }) {
    const { active, project_id, agent_id } = query
    const where = { is_active: active, project_id, agent_id }
    const asked = { owner: ctx.owner ?? null, where }
    return newestOf(ctx.db, WORKS, query, asked, (row) => workView(row))
  },
})

const getWorkOp = operation({
  name: 'get_work',
  method: 'GET',
  path: '/v1/work/{id}',
  tag: 'Work',
  summary: 'One work with its newest outputs',
  params,
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: z.object({ work: workSchema, outputs: z.array(outputSchema), words: z.string() }),
  async run(ctx, { params }) {
    const row = await found(ctx, params.id)
    const outputs = await listOutputs(ctx.db, row, null, OUTPUTS.default)
    const lines = outputs.map((output) => `- ${outputWords(output, row.now)}`)
    const words = [workWords(row), ...lines].join('\n')
    return { body: { work: workView(row), outputs: outputs.map(outputView), words } }
  },
})

const changes = z
  .object({
    is_active: z.boolean().optional().describe('false pauses, true resumes.'),
    frequency: workFields.frequency.unwrap().optional(),
    spread: spreadField.optional(),
    timezone: workFields.timezone,
    task: workFields.task.optional(),
    parameters: workFields.parameters,
    notify: workFields.notify.unwrap().optional(),
    notify_session: workFields.notify_session,
    catch_up: workFields.catch_up.unwrap().optional(),
    catch_up_within_seconds: workFields.catch_up_within_seconds,
  })
  .refine((value) => Object.values(value).some((each) => each !== undefined), {
    error:
      'needs at least one of is_active, frequency, spread, timezone, task, parameters, notify, notify_session and catch_up',
  })

const updateWorkOp = operation({
  name: 'update_work',
  method: 'PATCH',
  path: '/v1/work/{id}',
  tag: 'Work',
  summary: 'Pause or resume work, or change what it does and when',
  description:
    'Resumed work waits for the first time still to come. A frequency of "once" ends the schedule. A run in hand goes on as it began.',
  params,
  body: changes,
  opaque: ['parameters'],
  owner: 'row',
  roles: ['admin', 'service', 'agent'],
  output: z.object({ work: workSchema, words: z.string() }),
  async run(ctx, { params, body }) {
    const row = await ctx.db.tx(async (tx) => {
      const work = await found(ctx, params.id, tx, true)
      const errors = workErrors(
        {
          parameters: body.parameters,
          notify_session: body.notify_session,
          ...(body.parameters === undefined ? {} : { agent_type: work.agent_type }),
        },
        workRules(ctx, work.user_id),
      )
      const asked = await askedZone(ctx, work.user_id, body.timezone, work.timezone)
      const zone = body.timezone === undefined ? {} : { timezone: asked.timezone }
      const spread = readSpread(body.spread, work.user_id, work.name || work.id, errors)
      const schedule = changeWork(work, { ...body, ...zone, spread }, work.now, errors)
      if (schedule === null || errors.length > 0) throw new Refusal('rule', errors)
      const changed = {
        ...schedule,
        task: body.task ?? work.task,
        parameters: body.parameters?.text ?? work.parameters,
        follows_zone: body.timezone === undefined ? work.follows_zone : asked.followsZone,
        notify: body.notify ?? work.notify,
        notify_session: body.notify_session ?? work.notify_session,
        agent_id: notifySession(body, work.user_id)?.agentId ?? work.agent_id,
        catch_up: body.catch_up ?? work.catch_up,
        catch_up_within_seconds:
          body.catch_up_within_seconds === undefined
            ? work.catch_up_within_seconds
            : body.catch_up_within_seconds,
      }
      const whom = { userId: work.user_id, agentId: changed.agent_id }
      return withinPending({ ...ctx, db: tx }, whom, () => updateWork(tx, work, changed))
    })
    if (row.is_active) notify(ctx, 'clock')
    const words = workWords(row, 'was changed and')
    return { body: { work: workView(row), words }, about: { owner: row.user_id } }
  },
})

const deleteWorkOp = operation({
  name: 'delete_work',
  method: 'DELETE',
  path: '/v1/work/{id}',
  tag: 'Work',
  summary: 'Delete work with its outputs; a run of it is stopped',
  params,
  status: 204,
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: null,
  async run(ctx, { params }) {
    const gone = await deleteWork(ctx.db, ctx.actor.userId, params.id)
    if (gone === null) throw notFound(params.id)
    afterCommit(ctx, () => ctx.kernel.work.dropFiles(gone.bucket, gone.id))
    return { body: null }
  },
})

const runWorkOp = operation({
  name: 'run_work',
  method: 'POST',
  path: '/v1/work/{id}/run',
  tag: 'Work',
  summary: 'Run work now, besides its schedule',
  description: 'Also work that is paused or ran once. Runs of one work wait for one another.',
  params,
  status: 202,
  creates: true,
  owner: 'row',
  roles: ['admin', 'service', 'agent'],
  output: z.object({ output: outputSchema, words: z.string() }),
  async run(ctx, { params }) {
    const output = await ctx.db.tx(async (tx) => {
      const work = await found(ctx, params.id, tx)
      const queued = await queueRun(ctx, tx, work)
      // Counted after the row was locked by the queueing: parallel calls see one another.
      if ((await waitingRuns(tx, work)) > WAITING_MAX)
        throw new Refusal('conflict', `${WAITING_MAX} runs of this work wait already`)
      return queued
    })
    notify(ctx, 'turns')
    const words = `Run ${output.run_number} of this work waits its turn.`
    return { body: { output: outputView(output), words }, about: { owner: output.user_id } }
  },
})

const listOutputsOp = operation({
  name: 'list_work_outputs',
  method: 'GET',
  path: '/v1/work/{id}/outputs',
  tag: 'Work',
  summary: 'Outputs of one work, newest first',
  params,
  query: listQuery({ ...OUTPUTS, cursor: z.tuple([z.int().min(1).max(INT_MAX)]) }),
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: pageOf(outputSchema),
  async run(ctx, { params, query }) {
    const work = await found(ctx, params.id)
    const rows = await listOutputs(ctx.db, work, query.cursor?.[0] ?? null, query.limit + 1)
    return pageFrom(rows, query.limit, { at: (row) => [row.run_number], view: outputView })
  },
})

const getOutputOp = operation({
  name: 'get_work_output',
  method: 'GET',
  path: '/v1/work/{id}/outputs/{run_number}',
  tag: 'Work',
  summary: 'What one run produced, or how far it is',
  params: params.extend({ run_number: z.string() }),
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: outputSchema,
  async run(ctx, { params }) {
    const work = await found(ctx, params.id)
    const number = /^[1-9]\d{0,9}$/.test(params.run_number) ? Number(params.run_number) : 0
    const row = number < 1 || number > INT_MAX ? null : await getOutput(ctx.db, work, number)
    if (row === null) throw new Refusal('not_found', `work ${work.id} has no such run`)
    return { body: outputView(row) }
  },
})

export const work = [
  createWorkOp,
  listWorkOp,
  getWorkOp,
  updateWorkOp,
  deleteWorkOp,
  runWorkOp,
  listOutputsOp,
  getOutputOp,
]
