/**
 * Predicates over the JSON of an event: `[{ path: "order.items[0].sku", op: "==", value: "A-1" }]`. Pure, and data only: nothing
 * of a user's is run. There is no coercion between JSON types; numbers compare by value, digit for digit.
 */
import { z } from 'zod'
import { RawJson, readExact } from '../../../packages/exact-json/src/index.ts'
import { hasUnstorableJson } from '../../core/text.ts'

export const WHERE_OPERATORS = [
  '==',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  'contains',
  'exists',
] as const
export type WhereOperator = (typeof WHERE_OPERATORS)[number]

export interface Predicate {
  readonly path: string
  readonly op: WhereOperator
  readonly value?: unknown
}

const PREDICATES_MAX = 10
const PATH_MAX = 256
const VALUE_MAX_BYTES = 1024
const PATH_FORM = 'must be a path such as order.items[0].sku or ["a name"][2]'

/** A name, an index, or a name in quotes, which may hold anything. */
const STEP = /(?:^|\.)([^.[\]"\s]+)|\[(\d{1,6})\]|\[("(?:[^"\\]|\\.)*")\]/y

type Step = string | number

/** Null when it cannot be read. */
export function readPath(text: string): readonly Step[] | null {
  const steps: Step[] = []
  if (text.startsWith('.')) return null
  STEP.lastIndex = 0
  while (STEP.lastIndex < text.length) {
    const [all, name, index, quoted] = STEP.exec(text) ?? []
    if (all === undefined) return null
    if (name !== undefined) steps.push(name)
    else if (index !== undefined) steps.push(Number(index))
    else {
      const key = unquoted(quoted ?? '')
      if (key === null) return null
      steps.push(key)
    }
  }
  return steps.length === 0 ? null : steps
}

function unquoted(text: string): string | null {
  try {
    return JSON.parse(text) as string
  } catch {
    return null
  }
}

function valueError({ op, value }: Pick<Predicate, 'op' | 'value'>): string | null {
  if (op === 'exists')
    return value === undefined || typeof value === 'boolean' ? null : 'exists takes true or false'
  if (value === undefined) return `is required for ${op}`
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > VALUE_MAX_BYTES) return `must be at most ${VALUE_MAX_BYTES} bytes`
  if (hasUnstorableJson(text)) return 'must not hold a NUL or half of a surrogate pair'
  if (isInexact(value)) return 'numbers beyond 9007199254740991 lose digits: compare them as text'
  return op === 'in' && !Array.isArray(value) ? 'in takes a list' : null
}

function isInexact(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(isInexact)
}

export const whereField = z
  .array(
    z
      .strictObject({
        path: z
          .string()
          .max(PATH_MAX)
          .refine((text) => readPath(text) !== null, PATH_FORM),
        op: z.enum(WHERE_OPERATORS),
        value: z.unknown().optional(),
      })
      .superRefine((predicate, ctx) => {
        const message = valueError(predicate)
        if (message !== null) ctx.addIssue({ code: 'custom', path: ['value'], message })
      }),
  )
  .min(1)
  .max(PREDICATES_MAX)
  .describe(
    `What the data of the event must say; all of it holds. Operators: ${WHERE_OPERATORS.join(' ')}. A missing path makes each false but exists with value false.`,
  )

/** `data`: JSON text; null: the event has none. */
export function holdsWhere(where: readonly Predicate[], data: string | null): boolean {
  const root = data === null ? undefined : readExact(data)
  return where.every((predicate) => holdsPredicate(predicate, root))
}

function holdsPredicate({ path, op, value }: Predicate, root: unknown): boolean {
  const found = (readPath(path) ?? []).reduce(stepInto, root)
  if (op === 'exists') return (found !== undefined) === (value ?? true)
  if (found === undefined) return false
  const wanted = readExact(JSON.stringify(value))
  switch (op) {
    case '==':
      return isEqual(found, wanted)
    case '!=':
      return !isEqual(found, wanted)
    case 'in':
      return Array.isArray(wanted) && wanted.some((each) => isEqual(found, each))
    case 'contains':
      if (typeof found === 'string') return typeof wanted === 'string' && found.includes(wanted)
      return Array.isArray(found) && found.some((each) => isEqual(each, wanted))
    default: {
      const order = compare(found, wanted)
      return order !== null && ORDERED[op](order)
    }
  }
}

const ORDERED = {
  '<': (order: number) => order < 0,
  '<=': (order: number) => order <= 0,
  '>': (order: number) => order > 0,
  '>=': (order: number) => order >= 0,
}

function stepInto(value: unknown, step: Step): unknown {
  if (typeof step === 'number') return Array.isArray(value) ? value[step] : undefined
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value) || value instanceof RawJson) return undefined
  return Object.hasOwn(value, step) ? (value as Record<string, unknown>)[step] : undefined
}

/** Null where the two have no order: of other types, or neither numbers nor texts. */
function compare(a: unknown, b: unknown): number | null {
  if (a instanceof RawJson && b instanceof RawJson) return compareNumbers(a.text, b.text)
  return typeof a === 'string' && typeof b === 'string' ? compareTexts(a, b) : null
}

/** By code point: UTF-16 would sort what lies beyond U+FFFF before U+E000. */
function compareTexts(a: string, b: string): number {
  const [left, right] = [[...a], [...b]]
  for (const [index, character] of left.entries()) {
    const other = right[index]
    if (other === undefined) return 1
    const order = (character.codePointAt(0) ?? 0) - (other.codePointAt(0) ?? 0)
    if (order !== 0) return order
  }
  return left.length - right.length
}

function isEqual(a: unknown, b: unknown): boolean {
  if (a instanceof RawJson || b instanceof RawJson)
    return a instanceof RawJson && b instanceof RawJson && compareNumbers(a.text, b.text) === 0
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [Object.entries(a), b as Record<string, unknown>]
  return (
    left.length === Object.keys(b).length &&
    left.every(([key, value]) => Object.hasOwn(b, key) && isEqual(value, right[key]))
  )
}

/** 0.digits · 10^exponent; without zeros at either end. */
interface Decimal {
  readonly sign: -1 | 0 | 1
  readonly digits: string
  readonly exponent: number
}

function decimalOf(text: string): Decimal {
  const [, minus = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const all = `${whole}${fraction}`
  const first = all.search(/[1-9]/)
  if (first < 0) return { sign: 0, digits: '', exponent: 0 }
  const digits = withoutEndingZeros(all.slice(first))
  const exponent = Number(power) + whole.length - first
  return { sign: minus === '' ? 1 : -1, digits, exponent }
}

/** Not by a pattern: `0+$` takes quadratic time on long runs of zeros. */
function withoutEndingZeros(text: string): string {
  let end = text.length
  while (text[end - 1] === '0') end--
  return text.slice(0, end)
}

function compareNumbers(a: string, b: string): number {
  const [left, right] = [decimalOf(a), decimalOf(b)]
  if (left.sign !== right.sign) return left.sign - right.sign
  if (left.exponent !== right.exponent)
    return left.exponent < right.exponent ? -left.sign : left.sign
  if (left.digits === right.digits) return 0
  return left.digits < right.digits ? -left.sign : left.sign
}

export function whereWords(where: readonly Predicate[]): string {
  const one = ({ path, op, value }: Predicate) =>
    op === 'exists'
      ? `${path} ${(value ?? true) ? 'exists' : 'does not exist'}`
      : `${path} ${op} ${JSON.stringify(value)}`
  return where.map(one).join(' and ')
}
