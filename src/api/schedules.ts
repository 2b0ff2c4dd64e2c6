/** Schedules: what would an expression or a phrase mean, and when would it fire? Nothing is stored. */

import { z } from 'zod'
import {
  isZone,
  localInstant,
  NEXT_TIMES,
  next,
  parsedCron,
  parseFrequency,
  parsePhrase,
  ScheduleError,
  zoneError,
} from '../../packages/schedule/src/index.ts'
import { Refusal } from '../core/errors.ts'
import { notesText, sentences, timesText } from '../core/words.ts'
import { operation } from './contract.ts'

export const getCapabilities = operation({
  name: 'get_capabilities',
  method: 'GET',
  path: '/v1/capabilities',
  tag: 'Schedules',
  summary: 'The agents, executors of work and channels that can be named here',
  owner: 'caller',
  roles: ['admin', 'service', 'agent', 'user'],
  output: z.object({
    agents: z.array(z.string()),
    agent_types: z.array(z.string()).describe('Of work.'),
    channels: z.array(z.string()).describe('By which people can be linked.'),
  }),
  async run(ctx) {
    const { kernel, actor } = ctx
    const agents = actor.agentId === null ? [...kernel.agents.names] : [actor.agentId]
    const channels = [...kernel.channels.keys()].sort()
    return { body: { agents: agents.sort(), agent_types: [...kernel.work.types].sort(), channels } }
  },
})

export const capabilities = [getCapabilities]

const COUNT_MAX = 100
const SPELLINGS = ['schedule', 'cron_expr', 'frequency'] as const

const body = z
  .object({
    schedule: z.string().optional().describe('A phrase, such as "every weekday at 8:30".'),
    cron_expr: z
      .string()
      .optional()
      .describe('Five cron fields, several of them joined by " | ", or "@every 5m".'),
    frequency: z.string().optional().describe('A frequency of work, such as "daily at 9am".'),
    timezone: z.string().default('UTC').describe('An IANA name, such as "Europe/Berlin".'),
    after: z.string().optional().describe('An instant; without an offset it is read in timezone.'),
    count: z.int().min(1).max(COUNT_MAX).default(NEXT_TIMES),
  })
  .refine(hasOneSpelling, {
    error: 'needs exactly one of schedule, cron_expr and frequency',
    // Reported beside other errors, so that one correction fixes all of them.
    when: () => true,
  })
type Body = z.output<typeof body>

function hasOneSpelling(value: unknown): boolean {
  const fields = (value ?? {}) as Partial<Record<(typeof SPELLINGS)[number], unknown>>
  return SPELLINGS.filter((name) => fields[name] !== undefined).length === 1
}

const output = z.object({
  canonical: z.string(),
  kind: z.enum(['once', 'cron', 'every']),
  description: z.string(),
  timezone: z.string(),
  next: z.array(z.iso.datetime()),
  words: z.string(),
  notes: z.array(z.string()).optional(),
})

export const schedules = [
  operation({
    name: 'preview_schedule',
    method: 'POST',
    path: '/v1/schedules/preview',
    tag: 'Schedules',
    summary: 'Say what a schedule means and when it would fire',
    description:
      'Takes a phrase, a cron expression or a frequency. The times lie strictly after `after`; an interval is anchored there. Nothing is stored.',
    body,
    audit: 'none',
    owner: 'nobody',
    roles: ['admin', 'service', 'agent', 'user'],
    output,
    async run(ctx, { body }) {
      if (!isZone(body.timezone)) {
        throw new Refusal('rule', zoneError(body.timezone))
      }
      const now = Math.floor(await (ctx.whole ?? ctx.db).time())
      const after = instantAfter(body) ?? now
      const { schedule, canonical, description, notes } = read(body, after)
      const times = next(schedule, after, { anchor: after, count: body.count })
      return {
        body: {
          canonical,
          kind: schedule.kind,
          description,
          timezone: body.timezone,
          next: times.map((ms) => new Date(ms).toISOString()),
          words: sentences(
            `This means: ${description}.`,
            times.length === 0
              ? 'It has no time left to fire.'
              : `It would fire ${timesText(
                  times.map((ms) => new Date(ms)),
                  body.timezone,
                  new Date(now),
                )}.`,
            `Written exactly: ${canonical}.`,
            notesText(notes),
            'Nothing was set.',
          ),
          ...(notes.length > 0 && { notes }),
        },
      }
    },
  }),
]

function instantAfter({ after, timezone }: Body): number | null {
  if (after === undefined) return null
  const instant = localInstant(after, timezone)
  if (instant !== null) return instant
  throw new Refusal('shape', 'body.after: must be an instant such as 2030-01-31T09:00:00Z')
}

function read(body: Body, now: number) {
  const { schedule, cron_expr, frequency, timezone } = body
  try {
    if (cron_expr !== undefined) return parsedCron(cron_expr, timezone)
    if (frequency !== undefined) return parseFrequency(frequency, timezone)
    return parsePhrase(schedule ?? '', { timezone, now })
  } catch (error) {
    if (error instanceof ScheduleError) throw new Refusal('rule', error.errors)
    throw error
  }
}
