/** The rules of W3C trace context, by their list. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  carried,
  carry,
  readTraceContext,
  readTracestate,
  traceHeaders,
  traceIdOf,
} from '../../src/core/trace/context.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const known = { traceId: TRACE, spanId: SPAN, sampled: true, state: '' }

describe('a traceparent', () => {
  it.each([
    ['of version 00', `00-${TRACE}-${SPAN}-01`, known],
    ['not sampled', `00-${TRACE}-${SPAN}-00`, { ...known, sampled: false }],
    ['with flags not known yet', `00-${TRACE}-${SPAN}-03`, known],
    ['with all flags but the known one', `00-${TRACE}-${SPAN}-fe`, { ...known, sampled: false }],
    ['of a later version', `cc-${TRACE}-${SPAN}-01`, known],
    ['of a later version with more fields', `cc-${TRACE}-${SPAN}-01-what-the-future-holds`, known],
    ['of a later version with an empty field', `01-${TRACE}-${SPAN}-01-`, known],
  ])('%s is taken up', (_, header, context) => {
    expect(readTraceContext(header)).toEqual(context)
  })

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['of version ff', `ff-${TRACE}-${SPAN}-01`],
    ['of version 00 with more fields', `00-${TRACE}-${SPAN}-01-more`],
    ['of version 00 with a dash behind', `00-${TRACE}-${SPAN}-01-`],
    ['of a later version that goes on without a dash', `cc-${TRACE}-${SPAN}-01.what`],
    ['with a version of one digit', `0-${TRACE}-${SPAN}-01`],
    ['with a version of three digits', `000-${TRACE}-${SPAN}-01`],
    ['with a version that is no number', `xx-${TRACE}-${SPAN}-01`],
    ['with a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['with a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['with a trace id too short', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['with a trace id too long', `00-${TRACE}1-${SPAN}-01`],
    ['with a span id too short', `00-${TRACE}-${SPAN.slice(1)}-01`],
    ['with a span id too long', `00-${TRACE}-${SPAN}1-01`],
    ['with flags too short', `00-${TRACE}-${SPAN}-1`],
    ['with flags too long', `00-${TRACE}-${SPAN}-011`],
    ['in upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['with upper case flags', `00-${TRACE}-${SPAN}-0A`],
    ['with another separator', `00_${TRACE}_${SPAN}_01`],
    ['given twice', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['without end', `cc-${TRACE}-${SPAN}-01-${'x'.repeat(10_000)}`],
  ])('%s begins a new trace', (_, header) => {
    expect(readTraceContext(header, 'a=1')).toBeNull()
  })
})

describe('a tracestate', () => {
  it.each([
    ['one entry', 'a=1', 'a=1'],
    ['an order', 'b=2,a=1', 'b=2,a=1'],
    ['white space around entries', ' a=1 ,\tb=2', 'a=1,b=2'],
    ['empty entries', 'a=1,,b=2,', 'a=1,b=2'],
    ['a tenant', '0tenant@vendor=1', '0tenant@vendor=1'],
    ['every sign a key may have', 'a-_*/9=1', 'a-_*/9=1'],
    ['blanks inside a value', 'a=1 2', 'a=1 2'],
    ['the longest key', `${'a'.repeat(256)}=1`, `${'a'.repeat(256)}=1`],
    ['the longest value', `a=${'v'.repeat(256)}`, `a=${'v'.repeat(256)}`],
  ])('with %s is handed on', (_, header, state) => {
    expect(readTracestate(header)).toBe(state)
  })

  it.each([
    ['a key in upper case', 'A=1'],
    ['a key that is too long', `${'a'.repeat(257)}=1`],
    ['a tenant that is too long', `${'t'.repeat(242)}@v=1`],
    ['a vendor that is too long', `t@${'v'.repeat(15)}=1`],
    ['an entry without a value', 'a'],
    ['an empty value', 'a='],
    ['an equals sign in a value', 'a=1=2'],
    ['a value that is too long', `a=${'v'.repeat(257)}`],
    ['a control character', 'a=1\u0007'],
    ['a letter beyond ASCII', 'a=é'],
    ['a key given twice', 'a=1,a=2'],
    ['33 entries', Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(',')],
  ])('with %s is left out, and the trace goes on', (_, header) => {
    expect(readTraceContext(`00-${TRACE}-${SPAN}-01`, header)).toEqual(known)
  })

  it('of 32 entries is whole', () => {
    const header = Array.from({ length: 32 }, (_, n) => `k${n}=1`).join(',')
    expect(readTracestate(header)).toBe(header)
  })

  it('that is too long loses its long entries, then its last ones', () => {
    const long = `long=${'x'.repeat(200)}`
    const short = Array.from({ length: 8 }, (_, n) => `k${n}=${'y'.repeat(60)}`)
    const all = [short[0], long, ...short.slice(1)].join(',')
    expect(all.length).toBeGreaterThan(512)
    // Eight entries of 63 characters and seven commas are 511: those fit once the long one is gone.
    expect(readTracestate(all)).toBe(short.join(','))
    expect(readTracestate([...short, 'z=1'].join(','))).toBe(short.join(','))
  })
})

describe('what a row carries', () => {
  it('is read back as it was, whatever came in', () => {
    const hex = (length: number) =>
      fc.string({
        unit: fc.constantFrom(...'0123456789abcdef'),
        minLength: length,
        maxLength: length,
      })
    fc.assert(
      fc.property(hex(32), hex(16), fc.boolean(), fc.string(), (trace, span, sampled, state) => {
        const header = `00-${trace}-${span}-0${Number(sampled)}`
        const context = readTraceContext(header, state)
        if (context === null) return /^0+$/.test(trace) || /^0+$/.test(span)
        expect(carried(carry(context))).toEqual(context)
        expect(traceHeaders(carry(context)).traceparent).toBe(header)
        return traceIdOf(carry(context)) === trace
      }),
    )
  })

  it('never throws, and gives no headers for what is no trace', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const headers = traceHeaders(text)
        return carried(text) === null ? Object.keys(headers).length === 0 : true
      }),
    )
    expect([traceHeaders(null), traceIdOf(undefined)]).toEqual([{}, null])
  })
})
