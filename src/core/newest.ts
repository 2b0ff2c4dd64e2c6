/** Keeps the entries that were set last, at most `max` of them: what grows with what strangers send must be bounded. */
export function keepNewest<K, V>(entries: Map<K, V>, key: K, value: V, max: number): void {
  entries.delete(key)
  entries.set(key, value)
  if (entries.size <= max) return
  const oldest = entries.keys().next()
  if (!oldest.done) entries.delete(oldest.value)
}
