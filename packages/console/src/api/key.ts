/** The key this page shows to the server: kept for this tab only, and gone when the tab closes. */
import { holdKey } from './http.ts'

const PLACE = 'wakeful.key'
const listeners = new Set<() => void>()
/** The server asked for a key, or refused the one it was shown. */
let wanted = false

export function shownKey(): string | null {
  return sessionStorage.getItem(PLACE)
}

export function showKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(PLACE)
  else sessionStorage.setItem(PLACE, key)
  wanted = key === null
  tell()
}

/** The server answered that it knows nobody by this key. */
function keyRefused(): void {
  if (wanted) return
  wanted = true
  tell()
}

export function isKeyWanted(): boolean {
  return wanted
}

export function onKeyChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function tell(): void {
  for (const listener of listeners) listener()
}

holdKey({ shown: shownKey, refused: keyRefused })
