/**
 * Where in a JSON answer a value stands: `quote.price`, `data[0].close`, `["Global Quote"]["05. price"]`,
 * `{ticker}.usd`, `quotes[symbol={ticker}].price`. Data only: nothing of it is run.
 */

type Step =
  | { readonly name: string }
  | { readonly index: number }
  /** The item of a list whose field has this value. */
  | { readonly field: string; readonly is: string }

export type JsonPath = readonly Step[]

export const PATH_MAX = 256
const TICKER = '{ticker}'
const STEP =
  /^(?:\.?([\p{L}\p{N}_$@{}-]+)|\[(\d{1,6})\]|\[("(?:[^"\\]|\\.)*")\]|\[([\p{L}\p{N}_$@-]+)=([^\]"]{1,64})\])/u

/** Null when it cannot be read. */
export function readJsonPath(text: string): JsonPath | null {
  if (text.length === 0 || text.length > PATH_MAX || text.startsWith('.')) return null
  const steps: Step[] = []
  let rest = text
  while (rest !== '') {
    const [all, name, index, quoted, field, is] = STEP.exec(rest) ?? []
    if (all === undefined) return null
    // A name that follows another needs its dot; the first one has none.
    if (name !== undefined && steps.length > 0 && !all.startsWith('.')) return null
    if (name !== undefined) steps.push({ name })
    else if (index !== undefined) steps.push({ index: Number(index) })
    else if (quoted !== undefined) {
      const inner = unquoted(quoted)
      if (inner === null) return null
      steps.push({ name: inner })
    } else steps.push({ field: field ?? '', is: is ?? '' })
    rest = rest.slice(all.length)
  }
  return steps
}

function unquoted(text: string): string | null {
  try {
    return JSON.parse(text) as string
  } catch {
    return null
  }
}

export function namesTicker(path: JsonPath): boolean {
  return path.some((step) =>
    ('name' in step ? step.name : 'is' in step ? step.is : '').includes(TICKER),
  )
}

export type Found = { readonly value: unknown } | { readonly missing: string }

/** The value, or an error that says where the path ended and what was there. */
export function findIn(json: unknown, path: JsonPath, ticker: string): Found {
  let value = json
  let way = 'the answer'
  for (const step of path) {
    const next = take(value, step, ticker)
    const name = nameOf(step, ticker)
    if (next === undefined) return { missing: `${way} has no ${name}: it is ${kindOf(value)}` }
    value = next
    way = way === 'the answer' ? name : `${way} › ${name}`
  }
  return { value }
}

function take(value: unknown, step: Step, ticker: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  if ('name' in step) {
    const name = step.name.replaceAll(TICKER, ticker)
    if (Array.isArray(value)) return undefined
    if (Object.hasOwn(value, name)) return (value as Record<string, unknown>)[name]
    // Some servers write symbols in lower case, whatever they were asked for.
    const folded = Object.keys(value).find((key) => key.toUpperCase() === name.toUpperCase())
    const mayFold = folded !== undefined && step.name.includes(TICKER)
    return mayFold ? (value as Record<string, unknown>)[folded] : undefined
  }
  if (!Array.isArray(value)) return undefined
  if ('index' in step) return value[step.index]
  const is = step.is.replaceAll(TICKER, ticker).toUpperCase()
  return value.find((item) => {
    const field = (item as Record<string, unknown> | null)?.[step.field]
    return typeof field === 'string' && field.toUpperCase() === is
  })
}

function nameOf(step: Step, ticker: string): string {
  if ('index' in step) return `[${step.index}]`
  if ('name' in step) return JSON.stringify(step.name.replaceAll(TICKER, ticker))
  return `item with ${step.field} ${JSON.stringify(step.is.replaceAll(TICKER, ticker))}`
}

const KEYS_SHOWN = 8

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (value === null) return 'null'
  if (typeof value !== 'object') return `a ${typeof value}`
  const keys = Object.keys(value)
  const shown = keys.slice(0, KEYS_SHOWN).map((key) => JSON.stringify(key.slice(0, 40)))
  const more = keys.length > KEYS_SHOWN ? ', …' : ''
  return keys.length === 0 ? 'an empty object' : `an object with ${shown.join(', ')}${more}`
}
