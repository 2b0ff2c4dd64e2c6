/** Flags in memory shared by both threads, set while a forecast runs. */

export const BROKEN_OFF = 1
/** Another forecast is waiting. */
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
