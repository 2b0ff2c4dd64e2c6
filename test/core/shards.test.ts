/** Whose rows are where: every bucket in one shard, whatever is split. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BUCKETS, bucketOf } from '../../src/core/session.ts'
import {
  evenRanges,
  mapError,
  PerShard,
  ShardMap,
  type ShardRange,
  splitRange,
} from '../../src/store/shards/ranges.ts'

const ALL = Array.from({ length: BUCKETS }, (_, bucket) => bucket)

describe('the map of shards', () => {
  it('even shares: bucket b is in shard floor(b × shards / 1024), and the shares differ by one at most', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 256 }), (shards) => {
        const ranges = evenRanges(shards)
        expect(mapError(ranges)).toBeNull()
        const map = new ShardMap(ranges)
        const wrong = ALL.filter((b) => map.ofBucket(b) !== Math.floor((b * shards) / BUCKETS))
        expect(wrong).toEqual([])
        const sizes = ranges.map(({ first, last }) => last - first)
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
      }),
    )
  })

  it('however shards are split, each bucket stays in one, and nobody of the others moves', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 40 }), (which) => {
        let ranges: ShardRange[] = evenRanges(1)
        for (const n of which) {
          const at = n % ranges.length
          const before = new ShardMap(ranges)
          const split = splitRange(ranges[at] as ShardRange, ranges.length)
          if (split === null) continue
          ranges = [...ranges.with(at, split.kept), split.moved]
          expect(mapError(ranges)).toBeNull()
          const after = new ShardMap(ranges)
          const { first, last, number } = split.moved
          const wanted = (b: number) => (b >= first && b <= last ? number : before.ofBucket(b))
          expect(ALL.filter((b) => after.ofBucket(b) !== wanted(b))).toEqual([])
        }
      }),
      { numRuns: 30 },
    )
  })

  it.each<[string, ShardRange[]]>([
    ['a gap', [{ number: 0, first: 0, last: 500 }]],
    ['an overlap', [...evenRanges(2), { number: 2, first: 1000, last: 1023 }]],
    ['a number left out', evenRanges(2).map((each) => ({ ...each, number: each.number * 2 }))],
  ])('%s is no map', (_, ranges) => {
    expect(() => new ShardMap(ranges)).toThrow('the map of shards is wrong')
  })

  it('people on their way are nobody’s: refused as unavailable, and held by no shard', () => {
    const map = new ShardMap(evenRanges(2))
    const all = new PerShard(['a', 'b'], map)
    const bucket = bucketOf('ann')
    const before = all.ofUser('ann')
    map.change(evenRanges(2), [{ first: bucket, last: bucket }])
    expect(() => all.ofUser('ann')).toThrow('being moved')
    expect([0, 1].some((number) => map.holds(number, bucket))).toBe(false)
    map.change(evenRanges(2))
    expect(all.ofUser('ann')).toBe(before)
  })
})
