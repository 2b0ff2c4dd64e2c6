/**
 * The reading half of `json.ts`. `JSON.parse` cannot be used: it mangles long numbers, keeps the last
 * of two equal keys, and says nothing of depth, U+0000 or lone surrogates.
 */
import { RawJson } from './raw.ts'

/** `{}` is 1. An opaque member counts from itself. */
export const JSON_DEPTH_MAX = 32
export const OPAQUE_BYTES_MAX = 64 * 1024
/** Below this many keys a linear look beats a Set. */
const FEW_KEYS = 12

/** `syntax`: this is no JSON. `refused`: it is, but it holds what cannot be kept. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
  readonly kind: 'syntax' | 'refused'

  constructor(kind: 'syntax' | 'refused', message: string) {
    super(message)
    this.kind = kind
  }
}

type Names = Pick<ReadonlySet<string>, 'has'>
const NONE: Names = new Set<string>()
const EVERY: Names = { has: () => true }
/** What the items of a list are called where members have names. */
const ITEM = ''

/**
 * Reads one JSON text. Members named in `opaque` come back as `RawJson`, fully checked: those at the top, or
 * those that lie `level` objects deep.
 */
export function readJson(text: string, opaque: Names = NONE, level = 1): unknown {
  return new Reader(text, opaque, false, { level }).document()
}

/** The same, but every number comes back as `RawJson`, digit for digit. */
export function readExact(text: string): unknown {
  return new Reader(text, NONE, true).document()
}

/** One level only: the members of an object, or the items of a list, come back as `RawJson` of any size, fully checked. */
export function readLevel(text: string): unknown {
  return new Reader(text, EVERY, false, { opaqueMax: Number.POSITIVE_INFINITY }).document()
}

/** Space, tab, line feed, carriage return: JSON's only white space. */
const isSpace = (code: number) => code === 32 || code === 10 || code === 13 || code === 9
const isDigit = (code: number) => code >= 48 && code <= 57
const isHigh = (code: number) => code >= 0xd800 && code <= 0xdbff
const isLow = (code: number) => code >= 0xdc00 && code <= 0xdfff

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

/** One pass over the text by character codes; `pos` is the next character to look at. */
class Reader {
  private readonly text: string
  private readonly opaque: Names
  private readonly keepNumbers: boolean
  private readonly level: number
  private readonly opaqueMax: number
  private pos = 0
  private depth = 0

  /** With `keepNumbers` a number comes back as `RawJson`, digit for digit. */
  constructor(
    text: string,
    opaque: Names,
    keepNumbers: boolean,
    { level = 1, opaqueMax = OPAQUE_BYTES_MAX } = {},
  ) {
    this.text = text
    this.opaque = opaque
    this.keepNumbers = keepNumbers
    this.level = level
    this.opaqueMax = opaqueMax
  }

  document(): unknown {
    const value = this.value()
    this.space()
    if (this.pos < this.text.length) throw this.syntax()
    return value
  }

  private value(): unknown {
    this.space()
    const code = this.text.charCodeAt(this.pos)
    if (code === 34) return this.string()
    if (code === 123) return this.object()
    if (code === 91) return this.array()
    if (code === 45 || isDigit(code)) return this.number()
    if (code === 116) return this.word('true', true)
    if (code === 102) return this.word('false', false)
    if (code === 110) return this.word('null', null)
    throw this.syntax()
  }

  private object(): Record<string, unknown> {
    this.enter()
    const top = this.depth === this.level
    const result: Record<string, unknown> = {}
    const seen = new Keys()
    if (this.closes(125)) return result
    for (;;) {
      this.space()
      const at = this.pos
      if (this.text.charCodeAt(at) !== 34) throw this.syntax()
      const key = this.string()
      if (!seen.add(key)) throw this.refused(`the key ${quote(key)} is there twice`, at)
      this.expect(58)
      const value = top && this.opaque.has(key) ? this.opaqueValue(key) : this.value()
      // Plain assignment to this one name would set the prototype instead of a member.
      if (key === '__proto__') define(result, key, value)
      else result[key] = value
      if (this.ends(125)) return result
    }
  }

  private array(): unknown[] {
    this.enter()
    const opaque = this.depth === 1 && this.opaque.has(ITEM)
    const result: unknown[] = []
    if (this.closes(93)) return result
    for (;;) {
      result.push(opaque ? this.opaqueValue(ITEM) : this.value())
      if (this.ends(93)) return result
    }
  }

  /** Checks the member by reading it, and keeps its text. Its depth counts from itself. */
  private opaqueValue(key: string): RawJson {
    this.space()
    const start = this.pos
    const inner = new Reader(this.text, NONE, false)
    inner.pos = start
    inner.value()
    this.pos = inner.pos
    const text = this.text.slice(start, this.pos)
    if (utf8Length(text, this.opaqueMax) > this.opaqueMax) {
      throw this.refused(`${quote(key)} is larger than ${this.opaqueMax} bytes`, start)
    }
    return new RawJson(text)
  }

  private string(): string {
    const text = this.text
    const start = this.pos + 1
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === 34) {
        this.pos = at + 1
        return text.slice(start, at)
      }
      if (code === 92) return this.escaped(start, at)
      if (code < 32) {
        this.pos = at
        throw this.syntax()
      }
      if (code >= 0xd800 && code <= 0xdfff) at = this.pair(at)
    }
    this.pos = text.length
    throw this.syntax()
  }

  /** The slow path, from the first backslash on. */
  private escaped(start: number, backslash: number): string {
    const text = this.text
    let result = text.slice(start, backslash)
    let plain = backslash
    for (let at = backslash; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === 34) {
        this.pos = at + 1
        return result + text.slice(plain, at)
      }
      if (code === 92) {
        result += text.slice(plain, at) + this.escape(at)
        plain = this.pos
        at = plain - 1
      } else if (code < 32) {
        this.pos = at
        throw this.syntax()
      } else if (code >= 0xd800 && code <= 0xdfff) at = this.pair(at)
    }
    this.pos = text.length
    throw this.syntax()
  }

  /** Reads the escape at `at` (two, for a surrogate pair) and leaves `pos` behind it. */
  private escape(at: number): string {
    const letter = this.text.charAt(at + 1)
    if (letter !== 'u') {
      const plain = ESCAPES[letter]
      this.pos = at + 1
      if (plain === undefined) throw this.syntax()
      this.pos = at + 2
      return plain
    }
    const code = this.hex(at + 2)
    this.pos = at + 6
    if (code === 0) throw this.refused('U+0000 cannot be kept in text', at)
    if (isLow(code)) throw this.refused('a lone surrogate cannot be kept in text', at)
    if (!isHigh(code)) return String.fromCharCode(code)
    const paired = this.text.charAt(at + 6) === '\\' && this.text.charAt(at + 7) === 'u'
    const low = paired ? this.hex(at + 8) : 0
    if (!isLow(low)) throw this.refused('a lone surrogate cannot be kept in text', at)
    this.pos = at + 12
    return String.fromCharCode(code, low)
  }

  private hex(at: number): number {
    let value = 0
    for (let index = at; index < at + 4; index++) {
      const code = this.text.charCodeAt(index) | 32
      const digit = code >= 97 && code <= 102 ? code - 87 : code - 48
      // `| 32` also maps control characters onto digits, so the original has to be looked at too.
      if (!(digit >= 0 && digit <= 15) || this.text.charCodeAt(index) < 48) {
        this.pos = Math.min(index, this.text.length)
        throw this.syntax()
      }
      value = value * 16 + digit
    }
    return value
  }

  /** A raw surrogate must have its other half right behind it. Returns where that half stands. */
  private pair(at: number): number {
    if (isHigh(this.text.charCodeAt(at)) && isLow(this.text.charCodeAt(at + 1))) return at + 1
    throw this.refused('a lone surrogate cannot be kept in text', at)
  }

  private number(): number | RawJson {
    const text = this.text
    const start = this.pos
    if (text.charCodeAt(this.pos) === 45) this.pos++
    if (text.charCodeAt(this.pos) === 48) this.pos++
    else this.digits()
    if (text.charCodeAt(this.pos) === 46) {
      this.pos++
      this.digits()
    }
    if ((text.charCodeAt(this.pos) | 32) === 101) {
      this.pos++
      const sign = text.charCodeAt(this.pos)
      if (sign === 43 || sign === 45) this.pos++
      this.digits()
    }
    const token = text.slice(start, this.pos)
    return this.keepNumbers ? new RawJson(token) : Number(token)
  }

  private digits(): void {
    if (!isDigit(this.text.charCodeAt(this.pos))) throw this.syntax()
    do this.pos++
    while (isDigit(this.text.charCodeAt(this.pos)))
  }

  private word<T>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.pos)) throw this.syntax()
    this.pos += word.length
    return value
  }

  private space(): void {
    while (isSpace(this.text.charCodeAt(this.pos))) this.pos++
  }

  private enter(): void {
    this.depth++
    if (this.depth > JSON_DEPTH_MAX) {
      throw this.refused(`nested deeper than ${JSON_DEPTH_MAX} levels`, this.pos)
    }
    this.pos++
  }

  /** The closing bracket right after the opening one. */
  private closes(bracket: number): boolean {
    this.space()
    if (this.text.charCodeAt(this.pos) !== bracket) return false
    this.pos++
    this.depth--
    return true
  }

  /** After a member: the closing bracket, or a comma and more to come. */
  private ends(bracket: number): boolean {
    if (this.closes(bracket)) return true
    this.expect(44)
    return false
  }

  private expect(code: number): void {
    this.space()
    if (this.text.charCodeAt(this.pos) !== code) throw this.syntax()
    this.pos++
  }

  private syntax(): JsonError {
    const found = this.text.codePointAt(this.pos)
    if (found === undefined) return new JsonError('syntax', 'the JSON text ends too early')
    const shown = JSON.stringify(String.fromCodePoint(found))
    return new JsonError('syntax', `not JSON: unexpected ${shown} at position ${this.pos}`)
  }

  private refused(what: string, at: number): JsonError {
    return new JsonError('refused', `${what} (at position ${at})`)
  }
}

/** The keys of one object: a list while they are few, then a Set. */
class Keys {
  private readonly few: string[] = []
  private many: Set<string> | null = null

  /** False if the key was there. */
  add(key: string): boolean {
    if (this.many !== null) {
      const before = this.many.size
      return this.many.add(key).size > before
    }
    if (this.few.includes(key)) return false
    this.few.push(key)
    if (this.few.length > FEW_KEYS) this.many = new Set(this.few)
    return true
  }
}

function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  })
}

const quote = (key: string) => JSON.stringify(key.length > 64 ? `${key.slice(0, 64)}…` : key)

/** Bytes of the text in UTF-8, counted only where a short text does not already answer. */
function utf8Length(text: string, enough: number): number {
  if (text.length * 3 <= enough || text.length > enough) return text.length
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    // Each half of a surrogate pair stands for two of its four bytes.
    if (code > 0x7f) bytes += code > 0x7ff && !isHigh(code) && !isLow(code) ? 2 : 1
  }
  return bytes
}
