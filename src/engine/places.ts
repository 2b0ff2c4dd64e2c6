/**
 * Places for turns in this process. Those who claim sessions that wait come first: places are lent to others, who lease what has
 * not begun to wait yet, only while nobody is known to wait.
 */

/** Fewer are not worth a statement while much is due. */
const ROOM_MIN = 250
/** How long somebody with much to do waits for room before going on without. */
const PATIENCE_MS = 250

export class Places {
  readonly #all: number
  readonly #taken: () => number
  #lent = 0
  /** Until a look has found less than it had places for. */
  #wanted = true
  #waiting: (() => void)[] = []

  constructor(all: number, taken: () => number) {
    this.#all = all
    this.#taken = taken
  }

  get free(): number {
    return this.#all - this.#taken() - this.#lent
  }

  /** Sessions may wait for a place. */
  get wanted(): boolean {
    return this.#wanted
  }

  /** What a look at the sessions that wait has shown. */
  looked(wanted: boolean): void {
    this.#wanted = wanted
    this.freed()
  }

  /** How many there are to lend, at most `max`; `patient` waits a little until there are many. */
  async lend(max: number, patient: boolean): Promise<number> {
    if (patient && !this.#roomy) await this.#room()
    const places = this.#wanted ? 0 : Math.max(0, Math.min(max, this.free))
    this.#lent += places
    return places
  }

  back(places: number): void {
    this.#lent -= places
  }

  /** A turn has ended. */
  freed(): void {
    if (this.#waiting.length === 0 || !this.#roomy) return
    for (const go of this.#waiting.splice(0)) go()
  }

  get #roomy(): boolean {
    return !this.#wanted && this.free >= Math.min(ROOM_MIN, this.#all / 4)
  }

  async #room(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((go) => {
      timer = setTimeout(go, PATIENCE_MS)
      this.#waiting.push(go)
    })
    clearTimeout(timer)
  }
}
