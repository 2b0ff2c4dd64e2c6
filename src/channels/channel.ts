/** How an effect leaves. A channel that holds connections asks for what its sessions have not heard yet. */

import type { Receipt, Undelivered, Wanted } from '../store/effects.ts'
import type { EventRow } from '../store/events.ts'

export interface Channel {
  readonly name: string
  /** Sessions with somebody listening, and from which position each wants to hear on; of `keys`, or all. */
  wanted(keys: readonly string[] | null): Wanted[]
  /** Hands over what was found; answers what was attempted. */
  offer(rows: readonly Undelivered[]): Receipt[]
  /** The same for those who watch the log itself: `after` is a seq. */
  watched(keys: readonly string[] | null): Wanted[]
  show(rows: readonly (EventRow & { bucket: number })[]): void
}
