/** Signals: facts from outside that the conditions of intents look at. */

import { z } from 'zod'
import { instantIn } from '../../../packages/schedule/src/index.ts'
import { notify, operation } from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import { bytes, instant, isSaid, keyPart, NOT_BLANK, opaqueJson } from '../../core/fields.ts'
import { databaseNow } from '../../store/due.ts'
import {
  BODY_MAX_BYTES,
  calendarSignal,
  eventSignal,
  NAME_MAX,
  type NewSignal,
  newsSignal,
  priceSignal,
  SIGNAL_AHEAD_MS,
  SIGNAL_KINDS,
  type SignalKind,
  TICKER_MAX,
  TITLE_MAX,
  tickerKey,
  UID_MAX,
  URL_MAX,
} from './signal.ts'
import type { TakenSignal } from './signal-rows.ts'

/** Which fields each kind takes, and which of them it cannot do without. */
const FIELDS: Readonly<Record<SignalKind, Readonly<Record<string, 'required' | 'optional'>>>> = {
  price: { ticker: 'required', price: 'required', at: 'optional' },
  news: { headline: 'required', body: 'optional', url: 'optional', at: 'optional' },
  event: { name: 'required', text: 'optional', data: 'optional', at: 'optional' },
  calendar: {
    uid: 'required',
    title: 'required',
    starts_at: 'required',
    ends_at: 'optional',
  },
}

const short = (max: number) => z.string().max(max).refine(isSaid, NOT_BLANK)
const long = bytes(BODY_MAX_BYTES)

const FIELD_NAMES = [...new Set(Object.values(FIELDS).flatMap((fields) => Object.keys(fields)))]

const shape = z.object({
  kind: z.enum(SIGNAL_KINDS),
  ticker: short(TICKER_MAX).optional().describe('Of a price; its case does not matter.'),
  price: z.number().optional(),
  headline: short(TITLE_MAX).optional(),
  body: long.optional(),
  url: z
    .string()
    .max(URL_MAX)
    .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), 'must be a web address')
    .optional(),
  name: short(NAME_MAX).optional(),
  text: long.optional(),
  data: opaqueJson.optional().describe('Of an event: any JSON, kept verbatim.'),
  uid: short(UID_MAX)
    .optional()
    .describe('Of a calendar entry: the same uid again replaces the entry.'),
  title: short(TITLE_MAX).optional(),
  starts_at: instant.optional(),
  ends_at: instant.optional(),
  at: instant.optional().describe('When it was so; now if not said.'),
  user_id: keyPart
    .optional()
    .describe('For this person only; else for everybody. Agents and users: always their own.'),
})
/** One shape whose fields depend on its kind: every field is asked about, so that all errors are told at once. */
const body = FIELD_NAMES.reduce<typeof shape>(
  (schema, field) => schema.refine(...fitting(field)) as typeof shape,
  shape,
)
type Body = z.output<typeof shape>

function fitting(field: string) {
  const wrong = (value: unknown) => kindError(field, (value ?? {}) as Record<string, unknown>)
  return [
    (value: unknown) => wrong(value) === null,
    {
      path: [field] as PropertyKey[],
      error: (issue: { input?: unknown }) => wrong(issue.input) ?? '',
      when: () => true,
    },
  ] as const
}

function kindError(field: string, given: Readonly<Record<string, unknown>>): string | null {
  const kind = SIGNAL_KINDS.find((each) => each === given.kind)
  if (kind === undefined) return null
  const has = given[field] !== undefined
  const need = FIELDS[kind][field]
  if (need === undefined) return has ? `must be left out for kind ${kind}` : null
  return need === 'required' && !has ? `is required for kind ${kind}` : null
}

const instantOf = (text: string | undefined): Date | null =>
  text === undefined ? null : instantIn(text, 'UTC')

function signalOf(body: Body, userId: string | null, now: Date): NewSignal {
  const at = instantOf(body.at) ?? now
  switch (body.kind) {
    case 'price':
      return priceSignal({ ticker: body.ticker ?? '', price: body.price ?? 0 }, at, userId)
    case 'news': {
      const { headline = '', body: text, url } = body
      const rest = { ...(text === undefined ? {} : { body: text }), ...(url ? { url } : {}) }
      return newsSignal({ headline, ...rest }, at, userId)
    }
    case 'event': {
      const { name = '', text, data } = body
      const fact = { name, ...(text === undefined ? {} : { text }) }
      return eventSignal(fact, at, userId, { data: data?.text ?? null })
    }
    case 'calendar': {
      const { uid = '', title = '' } = body
      const startsAt = instantOf(body.starts_at) ?? now
      return calendarSignal({ uid, title }, startsAt, instantOf(body.ends_at), userId)
    }
  }
}

function ruleErrors(body: Body, now: Date): string[] {
  const at = instantOf(body.at)
  const errors: string[] = []
  if (at !== null && at.getTime() > now.getTime() + SIGNAL_AHEAD_MS)
    errors.push('at: lies in the future; a fact is told when it is so')
  const [starts, ends] = [instantOf(body.starts_at), instantOf(body.ends_at)]
  if (starts !== null && ends !== null && ends < starts)
    errors.push('ends_at: must not be before starts_at')
  return errors
}

const view = z.object({
  signal: z.looseObject({
    id: z.uuid(),
    kind: z.enum(SIGNAL_KINDS),
    user_id: z.string().nullable(),
  }),
  known: z.boolean().describe('It was told before; nothing was done.'),
  promoted: z.int().describe('How many intents it fired at once.'),
  words: z.string(),
})

const wordsOf = ({ stored, promoted }: TakenSignal) =>
  stored
    ? `The signal was taken; it fired ${promoted} intent${promoted === 1 ? '' : 's'} at once.`
    : 'The signal was known already; nothing was done.'

const postSignal = operation({
  name: 'post_signal',
  method: 'POST',
  path: '/v1/signals',
  tag: 'Signals',
  summary: 'Tell a fact that intents may wait for: a price, a headline, an event, a calendar entry',
  description:
    'price takes ticker, price, at; news takes headline, body, url, at; event takes name, text, data, at; calendar takes uid, title, starts_at, ends_at. What it makes true fires at once.',
  body,
  opaque: ['data'],
  status: 202,
  creates: true,
  audit: 'own',
  owner: 'body',
  roles: ['admin', 'service', 'agent', 'user'],
  output: view,
  async run(ctx, { body }) {
    const userId = ctx.owner ?? null
    const now = await databaseNow(ctx.db)
    const errors = ruleErrors(body, now)
    if (errors.length > 0) throw new Refusal('rule', errors)
    const { traceparent = null, entry: audit = null } = ctx
    const signal = { ...signalOf(body, userId, now), traceparent, audit }
    const [taken] = await ctx.kernel.takeSignals([signal], ctx.inTransaction ? ctx.db : null)
    if (taken === undefined) throw new Error('the signal was not taken')
    if (ctx.inTransaction && taken.promoted > 0) notify(ctx, 'turns')
    const { kind, at } = signal
    const when = kind === 'calendar' ? {} : { at }
    const ticker = kind === 'price' ? { ticker: tickerKey(body.ticker ?? '') } : {}
    const shown = { ...body, ...ticker, ...when, id: taken.id, kind, user_id: userId }
    return {
      body: {
        signal: shown,
        known: !taken.stored,
        promoted: taken.promoted,
        words: wordsOf(taken),
      },
      about: { id: taken.id },
    }
  },
})

export const signals = [postSignal]
