/** A sentence that the tour puts into the composer. */

let waiting: string | null = null
const composers = new Set<(text: string) => void>()

/** For the composer in sight, or for the next one to be shown. */
export function offerDraft(text: string): void {
  if (composers.size === 0) waiting = text
  for (const take of composers) take(text)
}

/** Returns what ends it. */
export function takeDrafts(take: (text: string) => void): () => void {
  composers.add(take)
  if (waiting !== null) take(waiting)
  waiting = null
  return () => composers.delete(take)
}
