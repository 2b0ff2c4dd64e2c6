/** In which zone times are read that name none: the person's own, else the server's. */

import type { Context } from '../../api/contract.ts'
import { getPerson } from './rows.ts'

export async function zoneFor({ db, kernel }: Context, userId: string): Promise<string> {
  const person = await getPerson(db, userId)
  return person?.timezone ?? kernel.policy.timezone ?? 'UTC'
}
