/** Crons of LangGraph's API, and the alarms that implement them. Pure. */
import { z } from 'zod'
import { Refusal } from '../../../../src/core/errors.ts'
import { cron, instant, opaqueJson, timezone } from '../../../../src/core/fields.ts'
import { newId } from '../../../../src/core/ids.ts'
import { bucketOf } from '../../../../src/core/session.ts'
import { type AlarmDraft, planAlarm } from '../../../../src/features/alarms/draft.ts'
import { alarmFields } from '../../../../src/features/alarms/fields.ts'
import {
  OPAQUE_BYTES_MAX,
  parseRaw,
  RawJson,
  readLevel,
  writeJson,
} from '../../../exact-json/src/index.ts'
import { instantIn } from '../../../schedule/src/index.ts'
import type { KeptCron } from './crons.ts'

/** Kept verbatim. */
export const OPAQUE = ['input', 'config', 'context', 'metadata'] as const
/** What a run is given. */
const RUN = ['input', 'config', 'context'] as const
const WAKE_MESSAGE_MAX_BYTES = 8 * 1024
const LABEL = 'LangGraph cron'

/** Null is absent: clients in other languages write it. */
const json = opaqueJson.optional()

/** Fields of LangGraph that are not supported: the values that equal our behaviour, and why others are refused. */
const FOREIGN = {
  webhook: [[], 'nobody is called when a run has ended; read its session instead'],
  interrupt_before: [[], 'an agent says itself where it waits, by interrupt()'],
  interrupt_after: [[], 'an agent says itself where it waits, by interrupt()'],
  multitask_strategy: [['enqueue'], 'the runs of one thread wait for one another'],
  on_run_completed: [['keep'], 'threads stay for as long as retention says'],
  checkpoint_during: [[false], 'a run is saved as a whole when it ends'],
  durability: [['exit'], 'a run is saved as a whole when it ends'],
  stream_mode: [[], 'runs are not streamed; listen at the socket of the session'],
  stream_subgraphs: [[false], 'runs are not streamed'],
  stream_resumable: [[false], 'runs are not streamed'],
} as const satisfies Record<string, readonly [readonly unknown[], string]>
type Foreign = keyof typeof FOREIGN

const foreignFields = Object.fromEntries(
  Object.keys(FOREIGN).map((name) => [name, z.unknown().optional()]),
) as Record<Foreign, z.ZodOptional<z.ZodUnknown>>

export const changeFields = {
  schedule: cron.optional().describe('Five fields.'),
  timezone: timezone.nullish().describe('An IANA name; UTC by default.'),
  end_time: instant.nullish().describe('The last instant it may run at.'),
  enabled: z.boolean().nullish(),
  input: json,
  config: json,
  context: json,
  metadata: json,
  ...foreignFields,
}
export type CronChange = z.output<z.ZodObject<typeof changeFields>>

/** Errors for unsupported fields. */
export function foreignErrors(asked: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(FOREIGN).flatMap(([name, [same, why]]) => {
    const value = asked[name] ?? null
    const known: readonly unknown[] = same
    if (value === null || known.includes(value)) return []
    const instead = known.length === 0 ? 'leave it out' : `leave it out, or say ${known.join(', ')}`
    return [`${name}: is not kept here: ${why}; ${instead}`]
  })
}

export interface NewCron {
  readonly userId: string
  readonly ownerDid: string
  readonly assistantId: string
  readonly threadId: string | null
}

/** Throws a `Refusal` with all reasons. */
export function newCron(who: NewCron, asked: CronChange, now: Date): KeptCron {
  const kept = changedCron(
    {
      bucket: bucketOf(who.userId),
      id: newId(),
      owner_did: who.ownerDid,
      user_id: who.userId,
      assistant_id: who.assistantId,
      thread_id: who.threadId,
      schedule: '',
      timezone: null,
      end_time: null,
      payload: '{}',
      metadata: '{}',
      alarm_id: null,
    },
    asked,
  )
  checkSchedule(kept, now)
  return kept
}

const isThere = (raw: RawJson | undefined): raw is RawJson =>
  raw !== undefined && raw.text !== 'null'

/** The cron with what a request changes of it. Throws a `Refusal` with all reasons. */
export function changedCron(before: KeptCron, asked: CronChange): KeptCron {
  const errors = foreignErrors(asked)
  for (const name of ['config', 'context', 'metadata'] as const) {
    const given = asked[name]
    if (isThere(given) && !isObject(parseRaw(given))) errors.push(`${name}: must be an object`)
  }
  if (errors.length > 0) throw new Refusal('rule', errors)
  const zone = asked.timezone === undefined ? before.timezone : asked.timezone
  const { end_time: end } = asked
  const after: KeptCron = {
    ...before,
    schedule: asked.schedule ?? before.schedule,
    timezone: zone,
    end_time:
      end === undefined ? before.end_time : end === null ? null : instantIn(end, zone ?? 'UTC'),
    payload: writeJson({ ...members(before.payload), ...runOf(asked) }),
    // Merged, as LangGraph does.
    metadata: writeJson({ ...members(before.metadata), ...members(asked.metadata?.text ?? '{}') }),
  }
  if (Buffer.byteLength(after.payload) + Buffer.byteLength(after.metadata) > OPAQUE_BYTES_MAX)
    throw new Refusal(
      'shape',
      `input, config, context and metadata take ${OPAQUE_BYTES_MAX} bytes together`,
    )
  return after
}

function runOf(asked: CronChange): Record<string, RawJson> {
  return Object.fromEntries(
    RUN.flatMap((name) => {
      const given = asked[name]
      return isThere(given) ? [[name, given]] : []
    }),
  )
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The members of a JSON object, each as its original text; empty if it is not an object. */
function members(text: string): Readonly<Record<string, RawJson>> {
  const read = readLevel(text)
  return isObject(read) ? (read as Record<string, RawJson>) : {}
}

/** The alarm that runs it. `id`: of the alarm. */
export function draftOf(kept: KeptCron, id: string): AlarmDraft {
  const { metadata, payload } = kept
  const carried = { cron_id: kept.id, ...members(payload), metadata: new RawJson(metadata) }
  return {
    id,
    ownerDid: kept.owner_did,
    userId: kept.user_id,
    agentId: kept.assistant_id,
    ...timingOf(kept),
    fields: fields.parse({
      timezone: kept.timezone ?? 'UTC',
      label: LABEL,
      conversation_id: kept.thread_id ?? '',
      wake_message: wordsOf(kept),
      payload: new RawJson(writeJson(carried)),
    }),
  }
}

const fields = z.object({ ...alarmFields, timezone })

function timingOf({ schedule, end_time }: KeptCron): Pick<AlarmDraft, 'timing'> {
  const end = end_time === null ? '' : ` until ${end_time.toISOString()}`
  return { timing: { type: 'cron', expr: `${schedule}${end}` } }
}

/** Throws the errors of its schedule, with the field names of a cron. */
export function checkSchedule(kept: KeptCron, now: Date): void {
  try {
    planAlarm({ ...timingOf(kept), timezone: kept.timezone ?? 'UTC' }, now)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Refusal(
      error.code,
      error.errors.map((text) => text.replace(/^cron_expr: /, 'schedule: ')),
    )
  }
}

/** For agents that take text: the last message of the input, else the whole input. */
function wordsOf({ payload, schedule }: KeptCron): string {
  const { input } = JSON.parse(payload) as { input?: unknown }
  const messages = isObject(input) && Array.isArray(input.messages) ? input.messages : []
  const { content } = (messages.at(-1) ?? {}) as { content?: unknown }
  const said = typeof content === 'string' ? content : textOf(input)
  const text = said.trim() === '' ? `It is time: ${schedule}` : said
  return Buffer.from(text)
    .subarray(0, WAKE_MESSAGE_MAX_BYTES)
    .toString()
    .replace(/\uFFFD$/, '')
}

function textOf(input: unknown): string {
  if (input === undefined || input === null) return ''
  return typeof input === 'string' ? input : JSON.stringify(input)
}
