/** All that may be asked of this server: the kernel's own table, and the operations of its packs. */
import type { Operation } from '../api/contract.ts'
import { type Row as KernelRow, kernelOperations } from '../api/operations.ts'
import { type PACKS, packOperations } from './packs.ts'

export const operations: readonly Operation[] = [...kernelOperations, ...packOperations]

type RowsOf<P> = P extends { readonly operations: readonly (infer R)[] } ? R : never

/** The rows with their names and schemas, for types made of them. */
export type Row = KernelRow | RowsOf<(typeof PACKS)[number]>
