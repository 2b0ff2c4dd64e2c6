/** Ids are made in the process: UUID v7, ordered by creation, no sequences anywhere. */
import { randomFillSync } from 'node:crypto'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const POOL_BYTES = 4096

let pool = Buffer.alloc(0)
let offset = 0
let lastMs = 0
let counter = 0

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

function random(bytes: number): Buffer {
  if (offset + bytes > pool.length) {
    pool = randomFillSync(Buffer.allocUnsafe(POOL_BYTES))
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
  const ms = Math.floor(performance.timeOrigin + performance.now())
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
