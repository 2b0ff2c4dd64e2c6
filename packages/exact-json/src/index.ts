/**
 * JSON that loses nothing. Opaque members (payloads) stay the exact text that was posted, so every
 * digit and the order of keys survive; the rest becomes plain values. What could not be kept or read
 * back without change is refused at the door: duplicate keys, deep nesting, U+0000 and lone
 * surrogates (PostgreSQL stores neither of the last two).
 */
import { printVerbatim, RawJson } from './raw.ts'
import { readExact } from './reader.ts'

export { RawJson } from './raw.ts'
export {
  JSON_DEPTH_MAX,
  JsonError,
  OPAQUE_BYTES_MAX,
  readExact,
  readJson,
  readLevel,
} from './reader.ts'

/** The value as agents see it; numbers beyond 2^53 lose digits here, and only here. */
export function parseRaw(raw: RawJson): unknown {
  return JSON.parse(raw.text)
}

/** Like `JSON.stringify`, but prints `RawJson` as it stands. */
export function writeJson(value: unknown): string {
  try {
    return printVerbatim(value) ?? print(value, '', false) ?? 'null'
  } catch (error) {
    // A number of any length is good JSON; only JSON.stringify does not know it.
    if (!(error instanceof TypeError)) throw error
    return print(value, '', false) ?? 'null'
  }
}

/**
 * One text for all spellings of a value: keys sorted, no white space, for fingerprints and hashes.
 * Numbers inside `RawJson` keep their digits, so `1E2` and `100` differ there.
 */
export function canonicalJson(value: unknown): string {
  return print(value, '', true) ?? 'null'
}

/** Undefined for what JSON leaves out: undefined, functions, symbols. */
function print(value: unknown, key: string, sorted: boolean): string | undefined {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null'
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      return value === null ? 'null' : printObject(value, key, sorted)
    case 'bigint':
      return String(value)
    default:
      return undefined
  }
}

function printObject(value: object, key: string, sorted: boolean): string | undefined {
  if (value instanceof RawJson) return sorted ? canonicalRaw(value) : value.text
  if (Array.isArray(value)) return printArray(value, sorted)
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return print(toJSON.call(value, key), key, sorted)
  const keys = Object.keys(value)
  if (sorted) keys.sort()
  const members = value as Record<string, unknown>
  let text = ''
  for (const name of keys) {
    const member = print(members[name], name, sorted)
    if (member === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${member}`
  }
  return `{${text}}`
}

function printArray(value: readonly unknown[], sorted: boolean): string {
  let text = ''
  for (let index = 0; index < value.length; index++) {
    text += `${index === 0 ? '' : ','}${print(value[index], String(index), sorted) ?? 'null'}`
  }
  return `[${text}]`
}

/** Numbers come back from `readExact` as `RawJson` themselves: those are printed, not read again. */
function canonicalRaw(raw: RawJson): string {
  if (/^[-\d]/.test(raw.text)) return raw.text
  return print(readExact(raw.text), '', true) ?? 'null'
}
