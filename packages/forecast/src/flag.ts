/** What a forecast is told while it is played: bits in memory that both threads see. */

export const BROKEN_OFF = 1
/** Somebody else waits for their turn. */
export const OTHERS_WAIT = 2

export function newFlag(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

export function raise(flag: Int32Array, bit: number): void {
  Atomics.or(flag, 0, bit)
}

export function isRaised(flag: Int32Array, bit: number): boolean {
  return (Atomics.load(flag, 0) & bit) !== 0
}
