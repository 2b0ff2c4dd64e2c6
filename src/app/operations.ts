/** All that may be asked of this server: the kernel's own table, and the operations of its packs. */
import type { Door } from '../api/callers/caller.ts'
import type { Arguments } from '../api/callers/flat.ts'
import type { Operation } from '../api/contract.ts'
import { type Row as KernelRow, kernelOperations } from '../api/operations.ts'
import { Refusal } from '../core/errors.ts'
import { type PACKS, packOperations } from './packs.ts'

export const operations: readonly Operation[] = [...kernelOperations, ...packOperations]

type RowsOf<P> = P extends { readonly operations: readonly (infer R)[] } ? R : never

/** The rows with their names and schemas, for types made of them. */
export type Row = KernelRow | RowsOf<(typeof PACKS)[number]>

const BY_NAME = new Map(operations.map((op) => [op.name, op]))

export function operationNamed(name: string): Operation {
  const op = BY_NAME.get(name)
  if (op === undefined) throw new Refusal('not_found', `there is no operation ${name}`)
  return op
}

/** Calls an operation by its name. Returns the JSON of the answer as values, or undefined without one. */
export async function callByName(door: Door, name: string, args: object = {}): Promise<unknown> {
  const json = await door.call(operationNamed(name), args as Arguments)
  return json === null ? undefined : (JSON.parse(json) as unknown)
}
