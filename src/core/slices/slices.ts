/**
 * Slices: whose rows are where. Each holds a range of buckets, so all rows of one person are in one, and a slice can be split in
 * two. Slice 0 is home to what belongs to nobody in particular.
 */
import { BUCKETS, bucketOf } from '../sessions/session.ts'

/** More would only cost: each is looked at by every process. */
export const SLICES_MAX = 256

export interface SliceRange {
  readonly number: number
  /** Buckets, both included. */
  readonly first: number
  readonly last: number
}

/** The ranges of so many slices: bucket b is in slice floor(b × slices / 1024). */
export function evenRanges(slices: number): SliceRange[] {
  return Array.from({ length: slices }, (_, number) => ({
    number,
    first: Math.ceil((number * BUCKETS) / slices),
    last: Math.ceil(((number + 1) * BUCKETS) / slices) - 1,
  }))
}

/** Halves a range: what stays, and what goes to the new slice. Null where there is nothing to halve. */
export function splitRange(
  range: SliceRange,
  number: number,
): { readonly kept: SliceRange; readonly moved: SliceRange } | null {
  if (range.first === range.last) return null
  const middle = Math.floor((range.first + range.last + 1) / 2)
  return {
    kept: { ...range, last: middle - 1 },
    moved: { number, first: middle, last: range.last },
  }
}

/** Why these are no map: null where they are, each bucket in one slice. */
export function mapError(ranges: readonly SliceRange[]): string | null {
  const numbers = ranges.map(({ number }) => number).sort((a, b) => a - b)
  if (numbers.some((number, index) => number !== index)) return 'a slice is missing in it'
  let next = 0
  for (const { number, first, last } of ranges.toSorted((a, b) => a.first - b.first)) {
    if (first !== next || last < first) return `the buckets of slice ${number} do not fit`
    next = last + 1
  }
  return next === BUCKETS ? null : `the buckets from ${next} on are in no slice`
}

/** From a bucket to the number of its slice. */
export class SliceMap {
  readonly #numbers: readonly number[]

  constructor(ranges: readonly SliceRange[]) {
    const error = mapError(ranges)
    if (error !== null) throw new Error(`the map of slices is wrong: ${error}`)
    const numbers: number[] = []
    for (const { number, first, last } of ranges)
      for (let bucket = first; bucket <= last; bucket++) numbers[bucket] = number
    this.#numbers = numbers
  }

  ofBucket(bucket: number): number {
    return this.#numbers[bucket] ?? 0
  }

  ofUser(userId: string): number {
    return this.ofBucket(bucketOf(userId))
  }
}

/** The schema of a slice: that of the first is the product's own, so that one slice is what it always was. */
export function schemaOf(number: number): string {
  return number === 0 ? 'wakeful' : `wakeful_${number}`
}
