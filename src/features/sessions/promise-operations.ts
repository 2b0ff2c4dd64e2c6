/** A promise from outside a turn: a message to the person and the alarm that keeps it, both or neither. */

import { setTimeout as after } from 'node:timers/promises'
import { z } from 'zod'
import { type Answer, type Context, operation } from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import { words } from '../../core/fields.ts'
import { newId } from '../../core/ids.ts'
import { type SessionRef, TEXT_MAX_BYTES } from '../../core/session.ts'
import { quoted } from '../../core/words.ts'
import type { Db } from '../../store/db.ts'
import { databaseNow } from '../../store/due.ts'
import { planAlarm, promisePayload, timingOf } from '../alarms/draft.ts'
import { alarmFields, alarmTimes } from '../alarms/fields.ts'
import { alarmView, alarmViewOf } from '../alarms/operations.ts'
import { getAlarm } from '../alarms/rows.ts'
import { readVerdicts } from '../ledger/rules.ts'
import { RULE_WORDS } from '../people/words.ts'
import { zoneFor } from '../people/zone-operations.ts'
import type { Appended } from './event-rows.ts'
import { eventSchema, eventView } from './list-operations.ts'
import { appendEvent } from './operations.ts'
import { turnsPage } from './page-rows.ts'
import { sessionOf, sessionParams } from './ref-operations.ts'
import { blockedText } from './turn.ts'
import type { TurnRow } from './turn-rows.ts'

const WAIT_MAX_SECONDS = 60
const WAIT_DEFAULT_SECONDS = 10
const LOOK_MS = 50
const WAKE_MAX = 2_000
const ONE_TIME = 'takes exactly one of fire_at, delay_seconds, cron_expr and schedule'

const { conversation_id: _where, idempotency_key: _key, wake_message, ...fields } = alarmFields
const BUSY =
  'The conversation is busy: it is said, and its alarm set, when what came before has had its turn.'
const TIMES = Object.keys(alarmTimes) as (keyof typeof alarmTimes)[]

const body = z
  .object({
    text: words(TEXT_MAX_BYTES).describe('What is said to the person now.'),
    ...alarmTimes,
    ...fields,
    wake_message: wake_message
      .optional()
      .describe('What the agent is told when it wakes; by default the words of the promise.'),
    wait_seconds: z
      .int()
      .min(0)
      .max(WAIT_MAX_SECONDS)
      .default(WAIT_DEFAULT_SECONDS)
      .describe('How long to wait until it is said.'),
  })
  .refine((asked) => TIMES.filter((name) => asked[name] !== undefined).length === 1, {
    error: ONE_TIME,
    when: () => true,
  })

const promise = operation({
  name: 'promise',
  method: 'POST',
  path: '/v1/sessions/{session_key}/promises',
  tag: 'Sessions',
  summary: 'Say that something will come, and set the alarm for it: both, or neither',
  description:
    'The message goes to the person as the agent of the session would say it, the alarm wakes that agent in the same session. A time that is refused means that nothing is said. ' +
    'Nobody asked for it, so cap, cooldown and the preferences of the person hold for it: what they hold back is refused with 409, and no alarm is set. `status` is `waiting` where its turn had not come within `wait_seconds`.',
  params: sessionParams,
  body,
  opaque: ['payload'],
  status: 202,
  creates: true,
  audit: 'own',
  owner: 'path',
  roles: ['admin', 'service', 'agent'],
  output: z.object({
    status: z.enum(['said', 'waiting']),
    event: eventSchema,
    alarm: alarmView.optional(),
    words: z.string(),
  }),
  async run(ctx, { params, body }) {
    const session = sessionOf(ctx.actor, params.session_key)
    const made = await planned(ctx, session, body)
    const row = await appendEvent(ctx, session, 'tool_result', promisePayload(made), null)
    const later = () => outcome(ctx, session, row, made, body.wait_seconds)
    const waiting = {
      body: { status: 'waiting', event: eventView(row), words: BUSY },
      about: { id: row.id },
    }
    return ctx.inTransaction ? { ...waiting, later } : later()
  },
})

/** A phrase means what it means now, whenever its turn comes. Refuses with all that is wrong. */
async function planned(ctx: Context, session: SessionRef, asked: z.output<typeof body>) {
  const { text, wait_seconds: _wait, ...alarm } = asked
  const { fire_at: _at, delay_seconds: _delay, cron_expr: _cron, schedule: _words, ...rest } = alarm
  const timezone = asked.timezone ?? (await zoneFor(ctx, session.userId))
  const timing = timingOf(asked, timezone)
  const plan = planAlarm({ timing, timezone }, await databaseNow(ctx.db))
  const when =
    plan.fireAt === null ? { cron_expr: plan.cronExpr } : { fire_at: plan.fireAt.toISOString() }
  const said = asked.wake_message ?? `You promised: ${text}`.slice(0, WAKE_MAX)
  const wake = said.replaceAll(/\p{Surrogate}/gu, '\ufffd')
  return { id: newId(), content: text, ...rest, ...when, timezone, wake_message: wake }
}

const promised = (event: object, said: string, alarm: ReturnType<typeof alarmViewOf>) => ({
  body: { status: 'said', event, alarm, words: `Said: ${quoted(said)}. ${alarm.words}` },
})

/** What came of its turn, once it has come. */
async function outcome(
  ctx: Context,
  session: SessionRef,
  row: Appended,
  { id: alarmId, content: said }: { readonly id: string; readonly content: string },
  seconds: number,
): Promise<Answer> {
  const db = ctx.kernel.work.dbOf(session.bucket)
  const event = eventView(row)
  const turn = await turnOver(db, session, row.seq, seconds * 1000, ctx.signal())
  if (turn === null) return { body: { status: 'waiting', event, words: BUSY } }
  const { userId } = session
  const alarm = await getAlarm(db, { ownerDid: null, userId }, alarmId)
  if (turn.status === 'committed' && alarm !== null)
    return promised(event, said, alarmViewOf(alarm))
  throw new Refusal('conflict', `${whyNot(turn)}; nothing was said, and no alarm was set`)
}

/** Its last attempt, or null when the time is up. */
async function turnOver(
  db: Db,
  session: SessionRef,
  seq: number,
  ms: number,
  signal: AbortSignal,
): Promise<TurnRow | null> {
  const page = { after: seq - 1, before: seq + 1, newestFirst: true, from: null, limit: 1 }
  for (const endMs = performance.now() + ms; ; ) {
    const [turn] = await turnsPage(db, session, page)
    if (turn !== undefined && turn.status !== 'retrying') return turn
    if (performance.now() >= endMs || signal.aborted) return null
    await after(LOOK_MS)
  }
}

function whyNot({ error, verdicts }: TurnRow): string {
  const held = readVerdicts(verdicts).find(({ allowed }) => !allowed)
  if (held === undefined || held.allowed) return error ?? 'its agent did not take it'
  if (!('deferred' in held)) return blockedText(held)
  const until = held.until === undefined ? '' : ` until ${held.until.toISOString()}`
  return `held back${until}: ${RULE_WORDS[held.rule]}`
}

export const promises = [promise]
