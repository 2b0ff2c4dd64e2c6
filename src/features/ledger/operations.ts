/** The ledger: every slot with its outcome and the reason, the answer to "why did, or didn't, my agent write?". */
import { z } from 'zod'
import { isZone, localInstant } from '../../../packages/schedule/src/index.ts'
import { idParam, listQuery, mergedPages, operation, page, pageOf } from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import { keyPart, sessionKey } from '../../core/fields.ts'
import { REASONS } from '../sessions/gate.ts'
import { sessionOf } from '../sessions/ref-operations.ts'
import { entryOf } from './entry-operations.ts'
import { slotMarks } from './mark-rows.ts'
import { readLedger } from './page-operations.ts'
import { LEDGER_KINDS, OUTCOME_MEANINGS, OUTCOMES } from './rules.ts'

const LIMIT_MAX = 200
const LIMIT_DEFAULT = 50
const instant = z.iso.datetime()

const query = listQuery({ max: LIMIT_MAX, default: LIMIT_DEFAULT }).extend({
  user_id: keyPart.optional().describe('Whose. Admin and service only.'),
  session_key: sessionKey.optional().describe('Only slots of this session.'),
  trigger: z.enum(LEDGER_KINDS).optional().describe('Only slots of this kind of trigger.'),
  trigger_id: idParam.optional().describe('Only slots of this timer, alarm, intent or work.'),
  outcome: z
    .enum(OUTCOMES)
    .optional()
    .describe('Only these; "missed": also those that stand for further slots which passed.'),
  from: when('Not before this instant; without an offset it is read in timezone.'),
  to: when('Before this instant.'),
  timezone: z.string().min(1).max(64).default('UTC').describe('An IANA name; for words.'),
})

function when(description: string) {
  return z
    .string()
    .refine((text) => localInstant(text, 'UTC') !== null, {
      error: 'must be an instant such as 2030-01-31T09:00:00Z, before the year 10000',
    })
    .optional()
    .describe(description)
}

export const ledgerEntry = z.object({
  id: z.uuid(),
  trigger: z.object({
    kind: z.enum(LEDGER_KINDS),
    /** Null where the intent is deleted. */
    id: z.uuid().nullable(),
    name: z.string(),
  }),
  user_id: z.string(),
  session_key: z.string().optional(),
  scheduled_for: instant,
  at: instant.describe('When it was taken up; entries are in the order of this.'),
  ended_at: instant.nullable().describe('When its outcome was recorded; null while it is open.'),
  outcome: z.enum(OUTCOMES),
  reason: z
    .object({
      rule: z.string(),
      count: z.number().optional(),
      max: z.number().optional(),
      until: instant.optional(),
      error: z.string().optional(),
    })
    .nullable(),
  words: z.string(),
  seen: z.unknown().optional().describe('Of an intent: what its check saw.'),
  missed_count: z.int().describe('Further slots that passed and are covered by this one.'),
  attempts: z.int(),
  repeats: z.int().optional().describe('Of a check: how often in a row the same was seen.'),
  verdicts: z.array(z.unknown()),
  turn: z
    .object({
      event_seq: z.int(),
      status: z.enum(['committed', 'failed', 'retrying']),
      started_at: instant,
      finished_at: instant,
      error: z.string().nullable(),
    })
    .optional()
    .describe('The newest attempt of an agent.'),
  effects: z.array(
    z.object({
      id: z.string(),
      status: z.string(),
      channel: z.string().optional().describe('By which it arrived.'),
      reason: z.enum(REASONS).describe('Why this message is there.'),
      delivered_at: instant.nullable(),
      preview: z.string(),
      error: z.string().optional(),
      detours: z
        .array(
          z.object({
            channel: z.string(),
            outcome: z.enum(['closed', 'refused', 'gone', 'failed']),
            error: z.string().optional(),
            at: instant,
          }),
        )
        .optional()
        .describe('Where it was meant to go before, oldest first, and why it did not.'),
    }),
  ),
  receipt: z.object({ at: instant, channel: z.string().optional() }).optional(),
  reply: z
    .object({ seq: z.int(), at: instant })
    .optional()
    .describe("The user's next message in the session, after something was sent."),
  output: z
    .object({ run_number: z.int(), status: z.string(), title: z.string().nullable() })
    .optional()
    .describe('Of work.'),
  dismissed: z
    .object({ at: instant, by: z.string() })
    .optional()
    .describe('Somebody has seen to this failure: when, and by which key or role.'),
})

const meanings = OUTCOMES.map((outcome) => `\`${outcome}\`: ${OUTCOME_MEANINGS[outcome]}`).join(
  '; ',
)

export const ledger = [
  operation({
    name: 'get_ledger',
    method: 'GET',
    path: '/v1/ledger',
    tag: 'Ledger',
    summary: "Say what became of every slot: why did, or didn't, the agent write?",
    description:
      `Newest first, one entry for each slot of a timer, alarm, intent or work that came due or was cancelled, with its outcome and the reason in \`words\`. Outcomes: ${meanings}. ` +
      'Slots that passed while nothing could run are covered by the one that fired for them: `missed_count`. ' +
      'With `outcome` or `trigger` a page looks at a bounded number of slots: it may hold fewer entries than `limit`, even none, and still have a `next_cursor`.',
    query,
    across: mergedPages,
    owner: 'query',
    roles: ['admin', 'service', 'agent', 'user'],
    output: pageOf(ledgerEntry),
    async run(ctx, { query }) {
      if (!isZone(query.timezone)) {
        const zone = JSON.stringify(query.timezone)
        throw new Refusal(
          'rule',
          `timezone: ${zone} is not an IANA time zone; write one like "UTC"`,
        )
      }
      const at = (text: string | undefined) =>
        text === undefined ? null : new Date(localInstant(text, query.timezone) ?? 0)
      const { session_key: key } = query
      const read = await readLedger(ctx.db, {
        userId: ctx.owner ?? null,
        session: key === undefined ? null : sessionOf(ctx.actor, key),
        kind: query.trigger ?? null,
        triggerId: query.trigger_id ?? null,
        outcome: query.outcome ?? null,
        from: at(query.from),
        to: at(query.to),
        after: query.cursor ?? null,
        limit: query.limit,
      })
      const marks = await slotMarks(ctx.db, read.slots)
      const data = read.slots.map((slot) =>
        entryOf(slot, query.timezone, read.now, marks.get(slot.row.id)),
      )
      const places = read.slots.map(({ row }) => [row.at_text, row.id])
      return { body: page(data, read.next), places }
    },
  }),
]
