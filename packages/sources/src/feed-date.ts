/** Dates as feeds write them: RFC 822 with its zones, or ISO 8601. Without a zone, UTC. */
import { existingDay } from '../../schedule/src/instant.ts'

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
/** Minutes east of Greenwich. Only names that mean one thing. */
const ZONES: Readonly<Record<string, number>> = {
  ...{ gmt: 0, ut: 0, utc: 0, z: 0, wet: 0, west: 60, cet: 60, cest: 120, met: 60, mest: 120 },
  ...{
    eet: 120,
    eest: 180,
    msk: 180,
    jst: 540,
    kst: 540,
    hkt: 480,
    sgt: 480,
    aest: 600,
    aedt: 660,
  },
  ...{ est: -300, edt: -240, cst: -360, cdt: -300, mst: -420, mdt: -360, pst: -480, pdt: -420 },
}
const RFC_822 =
  /^(?:[a-z]{2,9}\.?,?\s+)?(\d{1,2})\s+([a-z]{3})[a-z]*\.?\s+(\d{4}|\d{2})(?:\s+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*([a-z]{1,5}|[+-]\d{2}:?\d{2})?)?/i
const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i

/** Null if it is not a date. */
export function feedDate(text: string): Date | null {
  const trimmed = text.trim().slice(0, 64)
  const [, y, m, d, hour, minute, second, zone] = ISO.exec(trimmed) ?? []
  if (y !== undefined) return instant([+y, Number(m), Number(d)], [hour, minute, second], zone)
  const [, day, month = '', year = '', ...clock] = RFC_822.exec(trimmed) ?? []
  if (day === undefined) return null
  const full = year.length === 4 ? +year : +year + (+year < 70 ? 2000 : 1900)
  const number = MONTHS.indexOf(month.toLowerCase()) + 1
  return instant([full, number, +day], clock.slice(0, 3), clock[3])
}

function instant(
  [year, month, day]: readonly [number, number, number],
  clock: readonly (string | undefined)[],
  zone: string | undefined,
): Date | null {
  if (month < 1 || month > 12) return null
  const date = existingDay(year, month, day)
  const [hour = 0, minute = 0, second = 0] = clock.map((each) => Number(each ?? 0))
  const offset = offsetMinutes(zone ?? 'z')
  if (date === null || offset === null || hour > 24 || minute > 59 || second > 60) return null
  return new Date(
    date * 86_400_000 + ((hour * 60 + minute - offset) * 60 + Math.min(second, 59)) * 1000,
  )
}

function offsetMinutes(zone: string): number | null {
  const [, sign, hours, minutes = '0'] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone) ?? []
  if (sign !== undefined) return (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1)
  return ZONES[zone.toLowerCase()] ?? null
}
