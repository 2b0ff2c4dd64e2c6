/** The zone that every time of the console is shown in: the browser's own, until the reader chooses another. */

interface Kept {
  getItem(name: string): string | null
  setItem(name: string, value: string): void
  removeItem(name: string): void
}

const PLACE = 'wakeful.zone'
const OWN = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
/** Not there outside of a browser. */
const kept = (globalThis as { localStorage?: Kept }).localStorage
const listeners = new Set<() => void>()
let shown = kept?.getItem(PLACE) ?? OWN

export function ownZone(): string {
  return OWN
}

export function shownZone(): string {
  return shown
}

export function showZone(zone: string): void {
  shown = zone
  if (zone === OWN) kept?.removeItem(PLACE)
  else kept?.setItem(PLACE, zone)
  for (const listener of listeners) listener()
}

export function onZoneChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
