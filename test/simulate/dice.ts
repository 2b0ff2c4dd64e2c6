/** Everything that a simulation leaves to chance, from one number. */
import { createHash } from 'node:crypto'

export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** From 0 up to 1. */
  roll(): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  below(count: number): number {
    return Math.floor(this.roll() * count)
  }

  chance(share: number): boolean {
    return this.roll() < share
  }

  of<T>(all: readonly T[]): T {
    const one = all[this.below(all.length)]
    if (one === undefined) throw new Error('nothing to choose from')
    return one
  }

  /** One of the names, as often as its weight says. */
  weighed<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][]
    let left = this.roll() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      left -= weight
      if (left < 0) return name
    }
    return (entries.at(-1) as [K, number])[0]
  }

  fill(bytes: Buffer): Buffer {
    for (let n = 0; n < bytes.length; n++) bytes[n] = this.below(256)
    return bytes
  }
}

/** The same number for the same words, whoever asks and whenever: below `count`. */
export function fateOf(words: string, count: number): number {
  return createHash('sha1').update(words).digest().readUInt32BE() % count
}
