/** The figures of one agent, of all shards as one. */
import { z } from 'zod'
import type { Across, Context } from '../../api/contract.ts'
import { everywhere } from '../../api/shards.ts'
import { readPage } from '../../store/page.ts'
import { STOPS } from '../limits/stop-rows.ts'
import { agentFigures } from './figure-rows.ts'

const STOPS_MAX = 500

export const figuresSchema = z
  .object({
    sessions: z.int(),
    running: z.int().describe('Turns under way.'),
    turns_24h: z.int().describe('Attempts that ended in the last day; of very many, the newest.'),
    failed_24h: z.int(),
    error_rate: z.number().describe('failed_24h of turns_24h; 0 without turns.'),
    p50_ms: z.number().nullable(),
    p95_ms: z.number().nullable(),
    model_calls_24h: z
      .int()
      .describe('As its turns reported; days count as wholes, the one before in part.'),
    cost_24h: z.number().nullable().describe('In US dollars; null where no turn reported any.'),
    concurrency: z.int().nullable(),
    per_minute: z.int().nullable(),
    stop: z.object({ id: z.uuid(), reason: z.string() }).nullable().describe('What stops it.'),
  })
  .describe('How it does.')
export type Figures = z.output<typeof figuresSchema>

export async function figuresOf(ctx: Context, id: string): Promise<Figures> {
  const found = await agentFigures(ctx.db, id)
  const agent = ctx.kernel.agents.get(id)
  return {
    sessions: found.sessions,
    running: found.running,
    turns_24h: found.turns,
    failed_24h: found.failed,
    error_rate: rateOf(found.failed, found.turns),
    p50_ms: found.p50,
    p95_ms: found.p95,
    model_calls_24h: found.calls,
    cost_24h: found.usd === 0 ? null : found.usd,
    concurrency: agent?.concurrency ?? null,
    per_minute: agent?.perMinute ?? null,
    stop: await stopOf(ctx, id),
  }
}

const rateOf = (failed: number, turns: number) => (turns === 0 ? 0 : failed / turns)

/** The stop of the agent, else that of everything. */
async function stopOf({ db }: Context, id: string): Promise<Figures['stop']> {
  const where = { '(ended_at is null)': true }
  const standing = await readPage(db.home ?? db, STOPS, { where, limit: STOPS_MAX })
  const stop =
    standing.find(({ level, target }) => level === 'agent' && target === id) ??
    standing.find(({ level }) => level === 'everything')
  return stop === undefined ? null : { id: stop.id, reason: stop.reason }
}

/** Each shard counts what is there; percentiles are those of the shard with most turns. */
export const mergedFigures: Across = async (shards, ask) => {
  const all = (await everywhere(shards, ask)).map(({ body }) => body as { figures: Figures })
  const figures = all.map((each) => each.figures)
  const sum = (of: (each: Figures) => number) =>
    figures.reduce((total, each) => total + of(each), 0)
  const busiest = figures.toSorted((a, b) => b.turns_24h - a.turns_24h)[0]
  const [turns, failed] = [sum((each) => each.turns_24h), sum((each) => each.failed_24h)]
  const costs = figures.flatMap(({ cost_24h }) => cost_24h ?? [])
  return {
    body: {
      ...all[0],
      figures: {
        ...busiest,
        sessions: sum((each) => each.sessions),
        running: sum((each) => each.running),
        turns_24h: turns,
        failed_24h: failed,
        error_rate: rateOf(failed, turns),
        model_calls_24h: sum((each) => each.model_calls_24h),
        cost_24h: costs.length === 0 ? null : costs.reduce((a, b) => a + b, 0),
      },
    },
  }
}
