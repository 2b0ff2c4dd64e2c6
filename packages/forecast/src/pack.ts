/** Forecasts: a simulation of the next days on a copy of a person's rows, with its own clock. */
import type { Context } from '../../../src/api/contract.ts'
import type { Pack } from '../../../src/app/pack.ts'
import type { Copy } from './copy.ts'
import { hold, type Plan } from './forecast.ts'
import { ForecastPool } from './forecast-pool.ts'
import { operations } from './operations.ts'
import { toldOf } from './told.ts'

/** What the operation uses. */
export interface Forecasts {
  hold(ctx: Context, plan: Plan & { readonly timezone: string }, limit: number): Promise<object>
}

export const forecastPack = {
  name: 'forecasts',
  operations,
  open: async (_, app) => {
    const house = new ForecastPool((service, error) => app.meter.trouble(service, error))
    const own: Forecasts = {
      hold: (ctx, plan, limit) =>
        house.forecast(plan.userId, async (room) => {
          const held = await hold(app, ctx, plan, room)
          const told = await toldOf(room.store.db, plan, held, limit)
          const { userId: user_id, from, timezone } = plan
          return { user_id, timezone, from, to: held.to, ...told, notes: notesOn(plan.copy) }
        }),
    }
    return { own, close: () => house.close() }
  },
} as const satisfies Pack

function notesOn(copy: Copy): string[] {
  const outside = (copy.get('scheduled_intents') ?? []).filter(
    (row) => (JSON.parse(row) as { agent_id: unknown }).agent_id === null,
  )
  return outside.length === 0
    ? []
    : [
        `${outside.length} of the intents name no agent: outside workers decide when they fire, so they are left out`,
      ]
}
