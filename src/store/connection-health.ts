/** When the database last answered this process, and when it last did not: known without asking it anything. */
import { isUnavailable } from './db.ts'

export class ConnectionHealth {
  #answeredMs = Number.NEGATIVE_INFINITY
  #brokeMs = Number.NEGATIVE_INFINITY

  /** Takes note of how it ends. A refusal by the database is an answer, too. */
  async of<T>(asked: Promise<T>): Promise<T> {
    try {
      const answer = await asked
      this.#answeredMs = performance.now()
      return answer
    } catch (error) {
      if (isUnavailable(error)) this.broke()
      else this.#answeredMs = performance.now()
      throw error
    }
  }

  broke(): void {
    this.#brokeMs = performance.now()
  }

  /** It has answered within `ms`, and nothing has broken since. */
  beats(ms: number): boolean {
    return this.#answeredMs > this.#brokeMs && performance.now() - this.#answeredMs < ms
  }
}
