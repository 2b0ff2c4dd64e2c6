/** Times that are spread, so that a thousand people at nine o'clock are not one burst. */
import { parsed } from './parse.ts'
import { type Parsed, type Spread, unspread } from './schedule.ts'

/** The same with this spread in place of its own; what happens once is only moved. */
export function spreadOver({ schedule, notes }: Parsed, spread: Spread): Parsed {
  const plain = unspread(schedule)
  if (plain.kind !== 'once') return parsed({ ...plain, spread }, [...notes])
  const at = plain.at === null ? null : plain.at + spread.offsetMs
  return parsed({ ...plain, at }, [...notes])
}
