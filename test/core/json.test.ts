import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  canonicalJson,
  JSON_DEPTH_MAX,
  JsonError,
  OPAQUE_BYTES_MAX,
  parseRaw,
  RawJson,
  readJson,
  writeJson,
} from '../../packages/exact-json/src/index.ts'

const PAYLOAD = new Set(['payload'])

/** JSON values without what the reader refuses on purpose. */
const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\u0000'))
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom(null, true, false),
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Object.is(n, -0) ? 0 : n)),
    fc.integer(),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(text, tie('value'), { maxKeys: 20 }),
  ),
})).value

function refusal(source: string, opaque?: ReadonlySet<string>): JsonError {
  try {
    readJson(source, opaque)
  } catch (error) {
    if (error instanceof JsonError) return error
    throw error
  }
  throw new Error(`accepted: ${source}`)
}

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

/** The raw text of `payload` in a body. */
function payloadOf(body: string): RawJson {
  const { payload } = readJson(body, PAYLOAD) as { payload: unknown }
  if (!(payload instanceof RawJson)) throw new Error('payload is not raw')
  return payload
}

describe('readJson', () => {
  test('agrees with JSON.parse on everything it accepts', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const source = JSON.stringify(value, null, indent)
        expect(readJson(source)).toEqual(JSON.parse(source))
      }),
      { numRuns: 500 },
    )
  })

  test('refuses every text that JSON.parse refuses', () => {
    const alphabet = [...'{}[]",:\\u0123456789abcdeEftrulns+-. \n\t\u0001é']
    const noise = fc.array(fc.constantFrom(...alphabet), { maxLength: 14 }).map((c) => c.join(''))
    fc.assert(
      fc.property(noise, (source) => {
        let wanted: unknown
        let valid = true
        try {
          wanted = JSON.parse(source)
        } catch {
          valid = false
        }
        if (valid) {
          try {
            expect(readJson(source)).toEqual(wanted)
          } catch (error) {
            expect((error as JsonError).kind).toBe('refused')
          }
        } else expect(() => readJson(source)).toThrow(JsonError)
      }),
      { numRuns: 5000 },
    )
  })

  test('finds damage in what was valid', () => {
    fc.assert(
      fc.property(json, fc.nat(), fc.constantFrom(...'"{}[],:\\0-e.x '), (value, at, char) => {
        const whole = JSON.stringify(value)
        const cut = at % (whole.length + 1)
        const source = whole.slice(0, cut) + char + whole.slice(cut + 1)
        let valid = true
        try {
          JSON.parse(source)
        } catch {
          valid = false
        }
        if (!valid) expect(() => readJson(source)).toThrow(JsonError)
      }),
      { numRuns: 2000 },
    )
  })

  test.each([
    '',
    ' ',
    '01',
    '1.',
    '.5',
    '+1',
    '1e',
    '-',
    'nul',
    'NaN',
    "'a'",
    '{a:1}',
    '[1,]',
    '{"a":1,}',
    '"\\x"',
    '"\\u12"',
    '"\\u00 0"',
    '"\\u\u0010000"',
    '"\t"',
    '\ufeff{}',
    '1 2',
    '"open',
    '"open\\',
  ])('%j is no JSON', (source) => {
    expect(refusal(source).kind).toBe('syntax')
  })

  test('says where', () => {
    expect(refusal('{"a": x}').message).toBe('not JSON: unexpected "x" at position 6')
    expect(refusal('{"a": ').message).toBe('the JSON text ends too early')
  })

  test.each([
    ['{"a":1,"a":2}', 'the key "a" is there twice'],
    ['{"a":1,"\\u0061":2}', 'the key "a" is there twice'],
    ['[{"x":{"__proto__":1,"__proto__":2}}]', 'the key "__proto__" is there twice'],
    ['"\\u0000"', 'U+0000'],
    ['{"\\u0000":1}', 'U+0000'],
    ['"\\ud800"', 'lone surrogate'],
    ['"\\udc00\\ud800"', 'lone surrogate'],
    ['"\\ud800\\u0041"', 'lone surrogate'],
    ['"x\ud800"', 'lone surrogate'],
    ['"\\n\ud800"', 'lone surrogate'],
    ['"\ud83d\\ude00"', 'lone surrogate'],
  ])('%s is refused', (source, why) => {
    expect(refusal(source)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining(why),
    })
    expect(refusal(`{"payload":${source}}`, PAYLOAD).kind).toBe('refused')
  })

  test('finds a duplicate among many keys', () => {
    const keys = Array.from({ length: 500 }, (_, index) => `"k${index}":0`)
    expect(Object.keys(readJson(`{${keys}}`) as object)).toHaveLength(500)
    expect(refusal(`{${[...keys, '"k7":1']}}`).message).toContain('"k7"')
  })

  test('takes surrogate pairs, raw and escaped', () => {
    expect(readJson('["😀", "\\ud83d\\ude00", "\\n😀"]')).toEqual(['😀', '😀', '\n😀'])
  })

  test('32 levels and no more, an opaque member counting from itself', () => {
    expect(readJson(nested(JSON_DEPTH_MAX))).toBeDefined()
    expect(refusal(nested(JSON_DEPTH_MAX + 1)).kind).toBe('refused')
    expect(payloadOf(`{"payload":${nested(JSON_DEPTH_MAX)}}`).text).toHaveLength(64)
    expect(refusal(`{"payload":${nested(JSON_DEPTH_MAX + 1)}}`, PAYLOAD).kind).toBe('refused')
    expect(refusal('['.repeat(200_000)).kind).toBe('refused')
  })

  test('__proto__ is a member like any other', () => {
    const value = readJson('{"__proto__":{"admin":true}}') as { admin?: boolean }
    expect(value.admin).toBeUndefined()
    expect(Object.keys(value)).toEqual(['__proto__'])
    expect(writeJson(value)).toBe('{"__proto__":{"admin":true}}')
    expect(payloadOf('{"payload":{"__proto__":1}}').text).toBe('{"__proto__":1}')
  })
})

describe('opaque members', () => {
  test('keep their text, whatever it is', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 2), (value, indent) => {
        const source = JSON.stringify(value, null, indent)
        const raw = payloadOf(`{ "a": 1, "payload" :  ${source} , "b": [2]}`)
        expect(raw.text).toBe(source)
        expect(parseRaw(raw)).toEqual(value)
      }),
    )
  })

  test.each([
    '{"n":9007199254740993}',
    '{"b":1,"a":2,"aa":3}',
    '{"x":1e400}',
    '{"x":1E2,"y":0.1000000000000000055511151231257827,"z":-0}',
  ])('%s comes back byte for byte', (source) => {
    expect(writeJson({ payload: payloadOf(`{"payload":${source}}`) })).toBe(`{"payload":${source}}`)
  })

  test('only at the top', () => {
    expect(readJson('{"a":{"payload":1}}', PAYLOAD)).toEqual({ a: { payload: 1 } })
    expect(readJson('[{"payload":1}]', PAYLOAD)).toEqual([{ payload: 1 }])
  })

  test.each([
    ['ASCII', 'a', 1],
    ['two bytes', 'é', 2],
    ['three bytes', '€', 3],
    ['four bytes', '😀', 4],
  ])('64 KiB of UTF-8 and no more: %s', (_name, char, bytes) => {
    const fits = Math.floor((OPAQUE_BYTES_MAX - 2) / bytes)
    expect(payloadOf(`{"payload":"${char.repeat(fits)}"}`)).toBeInstanceOf(RawJson)
    const tooMuch = refusal(`{"payload":"${char.repeat(fits + 1)}"}`, PAYLOAD)
    expect(tooMuch.message).toContain('65536 bytes')
  })
})

describe('writeJson', () => {
  test('agrees with JSON.stringify', () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withObjectString: true }), (value) => {
        expect(writeJson(value)).toBe(JSON.stringify(value) ?? 'null')
      }),
      { numRuns: 1000 },
    )
    const date = new Date(0)
    expect(writeJson({ a: undefined, b: date, c: [undefined, Number.NaN] })).toBe(
      '{"b":"1970-01-01T00:00:00.000Z","c":[null,null]}',
    )
  })

  test('prints raw text as it stands, wherever it is and whatever stands beside it', () => {
    const raw = new RawJson('{"n": 12345678901234567890, "s": "\\u0041"}')
    const marks = ['\u0000raw', '"\u0000raw"', raw.text]
    for (const beside of [...marks, { '\u0000raw': 1 }, 12345678901234567890n, undefined]) {
      const other = typeof beside === 'bigint' ? String(beside) : JSON.stringify(beside)
      const shown = other === undefined ? '' : `,"beside":${other}`
      expect(writeJson({ list: [raw, [raw]], beside, last: raw })).toBe(
        `{"list":[${raw.text},[${raw.text}]]${shown},"last":${raw.text}}`,
      )
    }
    expect(writeJson(raw)).toBe(raw.text)
    expect(JSON.stringify({ raw: new RawJson('[1]') })).toBe('{"raw":[1]}')
  })
})

describe('canonicalJson', () => {
  test('does not depend on the order of keys or on white space', () => {
    fc.assert(
      fc.property(json, (value) => {
        const raw = payloadOf(`{"payload":${JSON.stringify(value, null, 3)}}`)
        const flipped = payloadOf(`{"payload":${JSON.stringify(reversed(value))}}`)
        expect(canonicalJson(raw)).toBe(canonicalJson(flipped))
        expect(canonicalJson(value)).toBe(canonicalJson(reversed(value)))
        expect(JSON.parse(canonicalJson(value))).toEqual(value)
      }),
    )
  })

  test('keeps the digits of raw numbers', () => {
    expect(canonicalJson(new RawJson('{"b": 9007199254740993, "a": [1E2, "1"]}'))).toBe(
      '{"a":[1E2,"1"],"b":9007199254740993}',
    )
    expect(canonicalJson({ z: new RawJson('-0.0'), a: 1 })).toBe('{"a":1,"z":-0.0}')
  })
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).reverse()
  return Object.fromEntries(entries.map(([key, member]) => [key, reversed(member)]))
}
