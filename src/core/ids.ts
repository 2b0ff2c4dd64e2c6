/** Ids and tokens are made in the process: UUID v7, ordered by creation, no sequences anywhere; v4 where order says nothing. */
import { randomFillSync } from 'node:crypto'

/** Where their bytes and their milliseconds come from: the one seam for a run that is to be repeated exactly. */
export interface IdSource {
  fill(bytes: Buffer): Buffer
  ms(): number
}

const MACHINE: IdSource = {
  fill: (bytes) => randomFillSync(bytes),
  ms: () => performance.timeOrigin + performance.now(),
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const POOL_BYTES = 4096

let source: IdSource = MACHINE
let pool: Buffer = Buffer.alloc(0)
let offset = 0
let lastMs = 0
let counter = 0

/** For simulations: all that follow are made from `other`; null for the machine's own again. */
export function makeIdsFrom(other: IdSource | null): void {
  source = other ?? MACHINE
  pool = Buffer.alloc(0)
  offset = 0
  lastMs = 0
}

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

function random(bytes: number): Buffer {
  if (offset + bytes > pool.length) {
    pool = source.fill(Buffer.allocUnsafe(POOL_BYTES))
    offset = 0
  }
  offset += bytes
  return pool.subarray(offset - bytes, offset)
}

/**
 * A UUID v7 whose time part comes from the monotonic clock's origin, so that this file needs no wall
 * clock: ids made by one process always increase, also within one millisecond and when the time of day jumps back.
 */
export function newId(): string {
  const ms = Math.floor(source.ms())
  if (ms > lastMs) {
    lastMs = ms
    counter = random(2).readUInt16BE() & 0x7ff
  } else if (++counter > 0xfff) {
    lastMs++
    counter = 0
  }
  const time = lastMs.toString(16).padStart(12, '0')
  const tail = Buffer.from(random(8))
  tail[0] = ((tail[0] ?? 0) & 0x3f) | 0x80
  const hex = tail.toString('hex')
  const rand = counter.toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rand}-${hex.slice(0, 4)}-${hex.slice(4)}`
}

/** When an id of ours was made, to the millisecond; null for any other. */
export function madeAt(id: string): Date | null {
  return id[14] === '7' ? new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)) : null
}

/** A random UUID v4: the fence of a lease. */
export function newToken(): string {
  const bytes = Buffer.from(random(16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
