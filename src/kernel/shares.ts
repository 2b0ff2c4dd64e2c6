/**
 * How much of a capacity each party (an agent, a person, a channel) holds. A party is held back while it holds more than a share
 * of what is still free. So one alone may use most of the capacity, several get equal parts, and something always stays free
 * for a party that holds nothing. Only parties that hold much are looked at; without one, nothing is asked.
 */
export class Shares {
  readonly #held = new Map<string, number>()
  readonly #large = new Set<string>()
  readonly #largeFrom: number

  constructor(largeFrom: number) {
    this.#largeFrom = Math.max(1, largeFrom)
  }

  add(party: string): void {
    const held = (this.#held.get(party) ?? 0) + 1
    this.#held.set(party, held)
    if (held >= this.#largeFrom) this.#large.add(party)
  }

  remove(party: string): void {
    const held = (this.#held.get(party) ?? 0) - 1
    if (held > 0) this.#held.set(party, held)
    else this.#held.delete(party)
    if (held < this.#largeFrom) this.#large.delete(party)
  }

  /** The large parties that hold more than this. */
  above(share: number): string[] {
    return [...this.#large].filter((party) => (this.#held.get(party) ?? 0) > share)
  }
}
