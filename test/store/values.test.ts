/** What we print for PostgreSQL is read back as it was, on both stores. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hasUnstorableText } from '../../src/core/text.ts'
import { openStore, type Store } from '../../src/store/open.ts'
import { utcInstant } from '../../src/store/query.ts'
import { eachStore } from '../setup/stores.ts'

eachStore('values', (store) => {
  const open = async (work: (opened: Store) => Promise<void>) => {
    const opened = await openStore(await store.database(), {
      now: () => null,
      onError: () => undefined,
    })
    await work(opened).finally(() => opened.close())
  }

  it('arrays of text, numbers, instants, flags and bytes come back as they were', () =>
    open(async ({ db }) => {
      const text = fc.option(
        fc.string({ unit: 'binary' }).filter((each) => !hasUnstorableText(each)),
      )
      const row = fc.tuple(
        text,
        fc.option(fc.maxSafeInteger()),
        fc.option(fc.boolean()),
        fc.option(fc.uint8Array({ maxLength: 20 })),
      )
      await fc.assert(
        fc.asyncProperty(fc.array(row, { maxLength: 20 }), async (rows) => {
          const [back] = await db.query<{
            a: unknown
            b: (string | null)[]
            c: unknown
            d: (Buffer | null)[]
          }>('select $1::text[] as a, $2::bigint[] as b, $3::boolean[] as c, $4::bytea[] as d', [
            rows.map((r) => r[0]),
            rows.map((r) => r[1]),
            rows.map((r) => r[2]),
            rows.map((r) => r[3]),
          ])
          expect(back?.a).toEqual(rows.map((r) => r[0]))
          expect(back?.b.map((each) => (each === null ? null : Number(each)))).toEqual(
            rows.map((r) => r[1]),
          )
          expect(back?.c).toEqual(rows.map((r) => r[2]))
          expect(back?.d.map((each) => each && [...each])).toEqual(
            rows.map((r) => r[3] && [...r[3]]),
          )
        }),
        { numRuns: 100, seed: 7 },
      )
    }))

  it('instants keep their milliseconds, far dates too', () =>
    open(async ({ db }) => {
      const instants = [
        '1970-01-01T00:00:00.000Z',
        '2026-11-15T22:23:31.942Z',
        '2026-11-15T22:23:31.900Z',
        '9999-12-31T23:59:59.999Z',
      ].map((text) => new Date(text))
      const rows = await db.query<{ at: Date }>('select * from unnest($1::timestamptz[]) at', [
        instants,
      ])
      expect(rows.map((row) => row.at)).toEqual(instants)
      const [one] = await db.query<{ at: Date }>('select $1::timestamptz as at', [instants[1]])
      expect(one?.at).toEqual(instants[1])
    }))
})

it('an instant is read from its digits as Date reads it, cut off at the millisecond', () => {
  const micros = fc.integer({ min: 0, max: 999_999 })
  const date = fc.date({
    min: new Date('0100-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  })
  fc.assert(
    fc.property(date, micros, (date, micros) => {
      const whole = date.toISOString().slice(0, 19).replace('T', ' ')
      // PostgreSQL prints no zeros at the end.
      const fraction = `.${String(micros).padStart(6, '0')}`.replace(/\.?0+$/, '')
      const read = utcInstant(`${whole}${fraction}+00`)
      expect(read?.toISOString()).toBe(
        `${whole.replace(' ', 'T')}.${String(Math.floor(micros / 1000)).padStart(3, '0')}Z`,
      )
    }),
  )
})

it('an instant printed in another zone, or long ago, is left to the driver', () => {
  expect(utcInstant('0099-12-31 22:23:31.942+00')).toBeUndefined()
  expect(utcInstant('12026-11-15 22:23:31+00')).toBeUndefined()
  expect(utcInstant('2026-11-15 22:23:31.942+05:30')).toBeUndefined()
  expect(utcInstant('infinity')).toBeUndefined()
  expect(utcInstant('2026-11-15 22:23:31+00')?.toISOString()).toBe('2026-11-15T22:23:31.000Z')
})
