/** Operations by name, for the library. */

import type { Door } from '../api/callers/caller.ts'
import type { Arguments } from '../api/callers/flat.ts'
import { Refusal } from '../core/errors.ts'
import { operations } from './operations.ts'

const BY_NAME = new Map(operations.map((op) => [op.name, op]))

/** The JSON of the answer as values, undefined without one. */
export async function callByName(door: Door, name: string, args: object = {}): Promise<unknown> {
  const op = BY_NAME.get(name)
  if (op === undefined) throw new Refusal('not_found', `there is no operation ${name}`)
  const json = await door.call(op, args as Arguments)
  return json === null ? undefined : (JSON.parse(json) as unknown)
}
