/** Predicates over any JSON: compared with a second, plainer reading of the same rules. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  holdsWhere,
  type Predicate,
  readPath,
  WHERE_OPERATORS,
  whereField,
} from '../../src/features/intents/where.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

const NAMES = ['a', 'b', 'sku', 'ä', 'x-1', 'a.b', 'with space', '"quoted"', '__proto__', '0']
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    fc.integer({ min: -3, max: 3 }),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }),
    fc.constantFrom('', 'a', 'ab', 'b', '\u{1F600}', '\uFB01', '1'),
    fc.array(tie('json'), { maxLength: 4 }),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom(...NAMES), tie('json')), {
        maxLength: 4,
        selector: ([name]) => name,
      })
      .map((entries) => Object.fromEntries(entries) as Json),
  ),
}))

type Way = readonly (string | number)[]
const way = fc.array(fc.oneof(fc.constantFrom(...NAMES), fc.integer({ min: 0, max: 3 })), {
  minLength: 1,
  maxLength: 4,
})

const written = (steps: Way) =>
  steps.map((step) => `[${typeof step === 'number' ? step : JSON.stringify(step)}]`).join('')

function at(value: Json | undefined, steps: Way): Json | undefined {
  const [step, ...rest] = steps
  if (step === undefined) return value
  if (value === null || typeof value !== 'object') return undefined
  if (Array.isArray(value) !== (typeof step === 'number')) return undefined
  const entry = Object.entries(value).find(([key]) => key === String(step))
  return entry === undefined ? undefined : at(entry[1], rest)
}

/** One text for all spellings; of finite numbers of JavaScript, equal texts are equal values. */
function plain(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(plain).join()}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value === 0 ? 0 : value)
  const entries = Object.entries(value).map(
    ([key, each]) => `${JSON.stringify(key)}:${plain(each)}`,
  )
  return `{${entries.sort().join()}}`
}

/** By the bytes of UTF-8, whose order is that of the code points. */
function order(a: Json, b: Json): number | null {
  if (typeof a === 'number' && typeof b === 'number') return Math.sign(a - b)
  if (typeof a !== 'string' || typeof b !== 'string') return null
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function holds(data: Json, steps: Way, op: Predicate['op'], value: Json): boolean {
  const found = at(data, steps)
  if (op === 'exists') return (found !== undefined) === value
  if (found === undefined) return false
  const ordered = order(found, value)
  switch (op) {
    case '==':
      return plain(found) === plain(value)
    case '!=':
      return plain(found) !== plain(value)
    case '<':
      return ordered === -1
    case '<=':
      return ordered === -1 || ordered === 0
    case '>':
      return ordered === 1
    case '>=':
      return ordered === 1 || ordered === 0
    case 'in':
      return Array.isArray(value) && value.map(plain).includes(plain(found))
    case 'contains':
      if (typeof found === 'string') return typeof value === 'string' && found.includes(value)
      return Array.isArray(found) && found.map(plain).includes(plain(value))
  }
}

function pathsIn(value: Json, before: Way = []): Way[] {
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, each]) => {
    const here = [...before, Array.isArray(value) ? Number(key) : key]
    return [here, ...pathsIn(each, here)]
  })
}

/** What is at some path of the data, or anything else. */
const asked = fc
  .tuple(json, way, fc.nat(), fc.constantFrom(...WHERE_OPERATORS), json, fc.boolean(), fc.boolean())
  .map(([data, anywhere, nth, op, other, same, exists]) => {
    const paths = pathsIn(data)
    const steps = paths[nth % (paths.length + 1)] ?? anywhere
    const value = op === 'exists' ? exists : same ? (at(data, steps) ?? other) : other
    return { data, steps, op, value: op === 'in' && !Array.isArray(value) ? [value, 'x'] : value }
  })

describe('where', () => {
  it('holds exactly where the rules say so, whatever the JSON', () => {
    let held = 0
    fc.assert(
      fc.property(asked, ({ data, steps, op, value }) => {
        const wanted = holds(data, steps, op, value)
        if (wanted) held++
        const got = holdsWhere([{ path: written(steps), op, value }], JSON.stringify(data))
        expect(got).toBe(wanted)
      }),
      { numRuns: 5_000 },
    )
    expect(held).toBeGreaterThan(200)
  })

  it('all of it must hold', () => {
    fc.assert(
      fc.property(fc.array(asked, { minLength: 1, maxLength: 4 }), ([first, ...rest]) => {
        const data = JSON.stringify(first?.data)
        const where = [first, ...rest].flatMap((each) =>
          each === undefined ? [] : [{ path: written(each.steps), op: each.op, value: each.value }],
        )
        expect(holdsWhere(where, data)).toBe(where.every((one) => holdsWhere([one], data)))
      }),
    )
  })

  const data =
    '{"order":{"items":[{"sku":"A-1","n":9007199254740993,"price":1.10}],"paid":true,"note":null},"big":1E400}'
  const cases: readonly [string, Predicate['op'], unknown, boolean][] = [
    ['order.items[0].sku', '==', 'A-1', true],
    ['order.items[0].sku', 'in', ['B', 'A-1'], true],
    ['order["items"][0]["sku"]', 'contains', '-', true],
    ['order.items', 'contains', { sku: 'A-1', n: 1, price: 1.1 }, false],
    // 2^53 + 1: a number of JavaScript would have lost its last digit.
    ['order.items[0].n', '==', 9007199254740991, false],
    ['order.items[0].n', '>', 9007199254740991, true],
    ['order.items[0].price', '==', 1.1, true],
    ['big', '>', 1e300, true],
    ['order.paid', '==', 1, false],
    ['order.paid', '!=', 'true', true],
    ['order.note', '==', null, true],
    ['order.note', 'exists', true, true],
    ['order.none', 'exists', undefined, false],
    ['order.none', 'exists', false, true],
    ['order.none', '!=', 1, false],
    ['order.items[1]', 'exists', true, false],
    ['order.items.length', 'exists', true, false],
    ['order.items[0].sku', '<', 2, false],
  ]
  for (const [path, op, value, wanted] of cases)
    it(`${path} ${op} ${JSON.stringify(value)} is ${wanted}`, () => {
      expect(holdsWhere([{ path, op, value }], data)).toBe(wanted)
    })

  it('without data only "does not exist" holds', () => {
    expect(holdsWhere([{ path: 'a', op: 'exists', value: false }], null)).toBe(true)
    expect(holdsWhere([{ path: 'a', op: '!=', value: 1 }], null)).toBe(false)
  })

  it('sorts texts by code point, not by UTF-16', () => {
    expect(holdsWhere([{ path: 'a', op: '>', value: '\uFB01' }], '{"a":"\u{1F600}"}')).toBe(true)
  })

  it('refuses what it cannot keep or compare, and says why', () => {
    const wrong: readonly [unknown, string][] = [
      [[], 'array'],
      [[{ path: 'a..b', op: '==', value: 1 }], 'must be a path'],
      [[{ path: 'a b', op: '==', value: 1 }], 'must be a path'],
      [[{ path: 'a', op: '~', value: 1 }], 'Invalid option'],
      [[{ path: 'a', op: '==' }], 'is required for =='],
      [[{ path: 'a', op: 'in', value: 1 }], 'in takes a list'],
      [[{ path: 'a', op: 'exists', value: 1 }], 'exists takes true or false'],
      [[{ path: 'a', op: '==', value: 2 ** 53 }], 'lose digits'],
      [[{ path: 'a', op: '==', value: 'x'.repeat(2000) }], 'at most 1024 bytes'],
      [[{ path: 'a', op: '==', value: '\0' }], 'NUL'],
      [Array(11).fill({ path: 'a', op: 'exists' }), 'array'],
    ]
    for (const [value, text] of wrong) {
      const read = whereField.safeParse(value)
      expect(read.success ? 'taken' : read.error.message, JSON.stringify(value)).toContain(text)
    }
  })

  it('reads a path in one pass', () => {
    expect(readPath('order.items[0].sku')).toEqual(['order', 'items', 0, 'sku'])
    expect(readPath('["a.b"].c')).toEqual(['a.b', 'c'])
    for (const text of ['', '.', 'a.', '.a', 'a[', 'a[x]', 'a]b', '[01234567]'])
      expect(readPath(text), text).toBeNull()
  })
})
