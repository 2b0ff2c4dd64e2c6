/** The zone that is shown, as state. */
import { useSyncExternalStore } from 'react'
import { onZoneChange, shownZone } from './zone.ts'

export function useShownZone(): string {
  return useSyncExternalStore(onZoneChange, shownZone)
}
