/** `POST /v1/people/{user_id}/forecast`: what would happen in the next days, optionally with a draft added. Stores nothing and calls nobody. */
import { z } from 'zod'
import { type Context, type Operation, operation } from '../../../src/api/contract.ts'
import { wrapOpaque } from '../../../src/api/shape.ts'
import { Refusal } from '../../../src/core/errors.ts'
import { instant } from '../../../src/core/fields.ts'
import { alarms } from '../../../src/features/alarms/operations.ts'
import { intents } from '../../../src/features/intents/report-operations.ts'
import { signals } from '../../../src/features/intents/signal-operations.ts'
import { OUTCOMES, TRIGGER_KINDS } from '../../../src/features/ledger/rules.ts'
import { personParams } from '../../../src/features/people/operations.ts'
import { zoneFor } from '../../../src/features/people/zone-operations.ts'
import { work } from '../../../src/features/work/operations.ts'
import { databaseNow } from '../../../src/store/due.ts'
import { instantIn } from '../../schedule/src/index.ts'
import { readCopy } from './copy.ts'
import { type Asked, OCCURRENCES_MAX, type Plan } from './forecast.ts'
import type { Forecasts } from './pack.ts'

const DAYS_MAX = 31
const DAYS_DEFAULT = 14
const DRAFT_MAX = 50
const FACTS_MAX = 500
const DAY_MS = 86_400_000

const named = (table: readonly Operation[], name: string): Operation & { body: z.ZodObject } => {
  const found = table.find((op) => op.name === name)
  if (found?.body === undefined) throw new Error(`the operation ${name} is missing`)
  return found as Operation & { body: z.ZodObject }
}

/** The operations that a draft can contain, by their name in the request. */
const DRAFTED = {
  alarms: named(alarms, 'set_alarm'),
  intents: named(intents, 'create_intent'),
  work: named(work, 'create_work'),
} as const
const TELLING = named(signals, 'post_signal')

/** A body, checked by its own operation. */
function bodyOf({ opaque, body }: Operation & { body: z.ZodObject }) {
  return z.preprocess((item) => wrapOpaque(opaque, item), body)
}

const fact = z.strictObject({
  at: instant.describe("When it is told; without an offset it is read in the person's zone."),
  signal: TELLING.body,
})

const body = z.object({
  days: z.int().min(1).max(DAYS_MAX).default(DAYS_DEFAULT),
  draft: z
    .strictObject({
      alarms: z.array(bodyOf(DRAFTED.alarms)).max(DRAFT_MAX).default([]),
      intents: z.array(bodyOf(DRAFTED.intents)).max(DRAFT_MAX).default([]),
      work: z.array(bodyOf(DRAFTED.work)).max(DRAFT_MAX).default([]),
    })
    .optional()
    .describe('What if these were added now? Each as its own operation takes it.'),
  facts: z
    .array(fact)
    .max(FACTS_MAX)
    .default([])
    .describe('Signals as POST /v1/signals takes them, each with the instant it is told at.'),
  limit: z
    .int()
    .min(0)
    .max(OCCURRENCES_MAX)
    .default(OCCURRENCES_MAX)
    .describe('So many occurrences are listed, the first ones; counted are all.'),
  agents: z
    .enum(['recorded', 'run'])
    .default('recorded')
    .describe(
      '"recorded": in the place of each agent something says one message whenever it is woken. "run": agents of this process that were made with `runsInForecasts` run, and what they say is told.',
    ),
})
type Body = z.output<typeof body>

const when = z.iso.datetime()
const counts = {
  said: z.int(),
  deferred: z.int(),
  gathered: z.int(),
  dropped: z.int(),
  outcomes: z.partialRecord(z.enum(OUTCOMES), z.int()),
}
const trigger = z.object({
  kind: z.enum(TRIGGER_KINDS),
  id: z.uuid().nullable(),
  name: z.string(),
  draft: z.boolean().describe('It is one of the draft.'),
})
const occurrence = z.object({
  id: z.uuid(),
  at: when.describe('When its time came.'),
  scheduled_for: when,
  trigger,
  session_key: z.string().optional(),
  outcome: z.enum(OUTCOMES),
  reason: z.looseObject({ rule: z.string() }).nullable(),
  words: z.string(),
  said_at: when.nullable().describe('When a message would be sent.'),
  text: z.string().optional().describe('What the agent said, where it ran.'),
  deferred: z
    .object({ rule: z.string(), from: when, until: when.nullable() })
    .optional()
    .describe('It waited for its moment.'),
  gathered: z
    .object({ into: z.uuid(), together: z.int() })
    .optional()
    .describe('It came as one event with others: those with the same `into`.'),
  missed_count: z.int(),
  seen: z.unknown().optional(),
  repeats: z.int().optional(),
})

const output = z.object({
  user_id: z.string(),
  timezone: z.string(),
  from: when,
  to: when.describe('How far it came.'),
  occurrences: z.array(occurrence).describe('In the order of `at`.'),
  more: z.int().describe('How many others there are, behind those listed.'),
  totals: z.object(counts),
  by_day: z.array(z.object({ day: z.string(), ...counts })).describe("The person's days."),
  cut: z
    .object({
      at: when,
      why: z.enum(['occurrences', 'time']),
      busiest: trigger.extend({ occurrences: z.int() }).nullable(),
    })
    .nullable()
    .describe('Where a bound ended it before its time, and which trigger came most often.'),
  notes: z.array(z.string()),
  words: z.string(),
})

/** Errors in the times of signals, and the signals in order. */
function factsOf({ facts }: Body, from: Date, to: Date, zone: string): Plan['facts'] {
  const told = facts.map(({ at, signal }, place) => ({
    ...{ op: TELLING, body: signal, where: `facts[${place}].signal` },
    at: instantIn(at, zone),
  }))
  const errors = told.flatMap(({ at }, place) =>
    at < from || at > to
      ? [`facts[${place}].at: must lie between ${from.toISOString()} and ${to.toISOString()}`]
      : [],
  )
  if (errors.length > 0) throw new Refusal('rule', errors)
  return told.toSorted((a, b) => a.at.getTime() - b.at.getTime())
}

function draftOf({ draft }: Body, userId: string): Asked[] {
  return Object.entries(DRAFTED).flatMap(([name, op]) =>
    (draft?.[name as keyof typeof DRAFTED] ?? []).map((item, place) => ({
      op,
      // Overrides the body: a forecast is about one person.
      body: name === 'alarms' ? item : { ...item, user_id: userId },
      where: `draft.${name}[${place}]`,
    })),
  )
}

function tickersIn({ draft }: Body): string[] {
  return (draft?.intents ?? []).flatMap((item) => {
    const { ticker } = (item.trigger_condition ?? {}) as { ticker?: unknown }
    return typeof ticker === 'string' ? [ticker] : []
  })
}

async function planOf(
  ctx: Context,
  userId: string,
  body: Body,
): Promise<Plan & { timezone: string }> {
  const from = new Date(Math.ceil((await databaseNow(ctx.db)).getTime()))
  const to = new Date(from.getTime() + body.days * DAY_MS)
  const timezone = await zoneFor(ctx, userId)
  const facts = factsOf(body, from, to, timezone)
  const run = body.agents === 'run'
  const wanted = { tickers: tickersIn(body), history: run, at: from }
  const copy = await readCopy(ctx.db, userId, wanted)
  return { userId, from, to, timezone, copy, facts, run, draft: draftOf(body, userId) }
}

export const operations = [
  operation({
    name: 'forecast',
    method: 'POST',
    path: '/v1/people/{user_id}/forecast',
    tag: 'Forecasts',
    summary:
      'Say what the next days would bring: what would be said, deferred, gathered, dropped, and why',
    description: `A copy of the person's state is played on a clock of its own, gates and preferences on; conditions hear the facts given here and nothing else. Nothing is stored, nobody is called, no message leaves. At most ${OCCURRENCES_MAX} occurrences and 20 seconds, 3 while somebody else waits: \`cut\` says where it ended before its time. A person has one forecast at a time; a second one is 429.`,
    params: personParams,
    body,
    audit: 'none',
    owner: 'path',
    roles: ['admin', 'service', 'agent', 'user'],
    output,
    async run(ctx, { body }) {
      const plan = await planOf(ctx, ctx.owner ?? '', body)
      const { forecasts } = ctx.kernel.app.packs.own as { forecasts: Forecasts }
      // The forecast does not need the transaction that read the copy.
      return {
        body: null,
        later: async () => ({ body: await forecasts.hold(ctx, plan, body.limit) }),
      }
    },
  }),
]
