/** How far the tour is, kept between visits. Null: it was not begun, or is closed. */
import { useSyncExternalStore } from 'react'

const PLACE = 'wakeful.tour'
const listeners = new Set<() => void>()

function reached(): number | null {
  const kept = localStorage.getItem(PLACE)
  return kept !== null && /^\d+$/.test(kept) ? Number(kept) : null
}

export function reachStep(step: number | null): void {
  if (step === null) localStorage.removeItem(PLACE)
  else localStorage.setItem(PLACE, String(step))
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useReachedStep(): number | null {
  return useSyncExternalStore(subscribe, reached)
}
