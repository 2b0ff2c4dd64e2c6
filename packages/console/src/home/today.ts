/** The overview up to the end of today: one answer, read once, for every page that shows a number of it. */
import { serverNow } from '../api/http.ts'
import { type Overview, overviewPath } from '../api/overview.ts'
import { useRead } from '../api/query.ts'
import { useNow } from '../parts/clock.ts'
import { endOfDay } from '../parts/time.ts'
import { useShownZone } from '../parts/use-zone.ts'

const MINUTE = 60_000

export function useToday() {
  const zone = useShownZone()
  // Drawn again each minute, so that the day changes while one watches.
  useNow(MINUTE)
  const now = serverNow()
  const path = overviewPath(new Date(endOfDay(now, zone)).toISOString())
  const overview = useRead<Overview>(path, ['overview', 'schedules'])
  return { overview, now }
}
