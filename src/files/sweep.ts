/**
 * Files without a row: a run put one and died, lost its lease, or was deleted before its commit. One page at a
 * time, and only what is older than any run can be.
 */
import type { FileKeeper } from './keeper.ts'

const PAGE = 500
/** Runs end after minutes; a day also forgives clocks that disagree. */
const ORPHAN_MS = 24 * 3_600_000
/** Once the end is reached, the next round may wait: nothing breaks while an orphan stays. */
const REST_MS = 6 * 3_600_000

export interface SweepOptions {
  readonly files: FileKeeper
  /** Which of these keys a row names. */
  readonly known: (keys: readonly string[]) => Promise<ReadonlySet<string>>
  readonly now: () => Date
}

/** Looks at one page each time it is called; answers how many it removed. */
export function fileSweep({ files, known, now }: SweepOptions): () => Promise<number> {
  let after: string | null = null
  let restUntil = Number.NEGATIVE_INFINITY
  return async () => {
    const at = now().getTime()
    if (at < restUntil) return 0
    const page = await files.list(after, PAGE)
    const old = page.files.filter((file) => at - file.modifiedAt.getTime() > ORPHAN_MS)
    const keys = old.map((file) => file.key)
    const kept = keys.length === 0 ? new Set<string>() : await known(keys)
    const orphans = keys.filter((key) => !kept.has(key))
    await files.remove(orphans)
    after = page.next
    if (after === null) restUntil = at + REST_MS
    return orphans.length
  }
}
