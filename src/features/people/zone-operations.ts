/** In which zone times are read that name none: the person's own, else the server's. */

import type { Context } from '../../api/contract.ts'
import { FOLLOWS } from '../../core/fields.ts'
import { getPerson } from './rows.ts'

export async function zoneFor({ db, kernel }: Context, userId: string): Promise<string> {
  const person = await getPerson(db, userId)
  return person?.timezone ?? kernel.policy.timezone ?? 'UTC'
}

export interface AskedZone {
  readonly timezone: string
  /** It is the person's, also after they have moved. */
  readonly followsZone: boolean
}

/** The zone that was asked for. `otherwise`: where none was. */
export async function askedZone(
  ctx: Context,
  userId: string,
  named: string | undefined,
  otherwise?: string,
): Promise<AskedZone> {
  if (named === FOLLOWS) return { timezone: await zoneFor(ctx, userId), followsZone: true }
  return { timezone: named ?? otherwise ?? (await zoneFor(ctx, userId)), followsZone: false }
}
