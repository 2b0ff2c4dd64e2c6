/** Values that a JSON schema allows, and what a stranger would send instead. Everything from one source of randomness. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly format?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly minLength?: number
}

const LONG = 'y'.repeat(70_000)
const DEEP = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

/** As text, since not all of it can be said by a value. */
const HOSTILE_JSON = [
  'null',
  'true',
  '0',
  '-0',
  '1e999',
  '-1e999',
  '9007199254740993',
  '1e-400',
  '""',
  '" "',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '[]',
  '{}',
  '[null]',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{}}}',
  '{"a":1,"a":2}',
  DEEP(40),
  DEEP(5000),
  `"${'x'.repeat(40_000)}"`,
  `{"${'k'.repeat(3000)}":1}`,
  '"2026-02-30T25:61:61Z"',
  '"+275760-09-13T00:00:00Z"',
  '"0000-00-00"',
  '"9999-12-31T23:59:59.999Z"',
  '"0001-01-01T00:00:00Z"',
  '"* * * * *"',
  '"@every 1ns"',
  '"*/0 * * * *"',
  '"0 0 30 2 *"',
  '"Europe/../etc"',
  '"\'; drop table wakeful.events; --"',
  '"..%2f..%2f..%2fetc%2fpasswd"',
  '"%00"',
  '"{{7*7}}"',
  '"<script>alert(1)</script>"',
  '"http://169.254.169.254/latest/meta-data/"',
  '"file:///etc/passwd"',
  '"\\u202e\\u200b"',
  '"👩‍👩‍👧‍👦"',
  '"NaN"',
  '"undefined"',
  '1.7976931348623157e308',
  '4294967296',
  '-2147483649',
  '[[[[1]]]]',
  '"every every day at at 9"',
  '"every 0 seconds"',
  '"in 99999999999999 years"',
  '"tomorrow at 25:99"',
  '"(a+)+$"',
  '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"',
  '"did:matrix:::::"',
  '"%F0%9F%92%A9"',
]

const WORDS = [
  'tea',
  'ann',
  'bot',
  'a b',
  'x',
  'Zürich',
  'every day at 9am',
  'in 20 minutes',
  '0 9 * * *',
  'Europe/Berlin',
  'UTC',
  'reporting',
  'price',
  'AAPL',
  't1',
]

export class Generator {
  readonly #random: () => number
  readonly #shared: Readonly<Record<string, Schema>>
  /** Ids that were seen in answers, and others that are given. */
  readonly ids: string[] = ['00000000-0000-0000-0000-000000000000', 'not-an-id']
  /** How much of what is made is hostile. */
  hostility = 0.15

  constructor(random: () => number, shared: Readonly<Record<string, Schema>> = {}) {
    this.#random = random
    this.#shared = shared
  }

  chance(share: number): boolean {
    return this.#random() < share
  }

  whole(max: number): number {
    return Math.floor(this.#random() * max)
  }

  one<T>(all: readonly T[]): T {
    return all[this.whole(all.length)] as T
  }

  /** JSON as text. */
  json(schema: Schema | undefined, depth = 0): string {
    if (schema === undefined || this.chance(this.hostility / (depth + 1)))
      return this.one(HOSTILE_JSON)
    const { $ref, anyOf, oneOf, allOf } = schema
    if ($ref !== undefined) return this.json(this.#shared[$ref.split('/').at(-1) ?? ''], depth)
    const among = anyOf ?? oneOf
    if (among !== undefined) return this.json(this.one(among), depth)
    if (allOf !== undefined) return this.json(this.one(allOf), depth)
    if (schema.const !== undefined) return JSON.stringify(schema.const)
    if (schema.enum !== undefined) return JSON.stringify(this.one(schema.enum))
    const type = Array.isArray(schema.type) ? this.one(schema.type as string[]) : schema.type
    if (type === 'object' || schema.properties !== undefined) return this.#object(schema, depth)
    if (type === 'array')
      return `[${Array.from({ length: this.whole(4) }, () => this.json(schema.items, depth + 1)).join(',')}]`
    if (type === 'integer' || type === 'number') return String(this.#number(schema, type))
    if (type === 'boolean') return String(this.chance(0.5))
    if (type === 'null') return 'null'
    if (type === 'string') return JSON.stringify(this.#string(schema))
    return this.one(HOSTILE_JSON)
  }

  /** A value of a path or a query, unquoted. */
  text(schema: Schema | undefined): string {
    const json = this.json(schema)
    try {
      const value: unknown = JSON.parse(json)
      return typeof value === 'string' ? value : json
    } catch {
      return json
    }
  }

  #object({ properties = {}, required = [] }: Schema, depth: number): string {
    const names = Object.keys(properties).filter((name) =>
      required.includes(name) ? !this.chance(this.hostility / 3) : this.chance(0.4),
    )
    const fields = names.map(
      (name) => `${JSON.stringify(name)}:${this.json(properties[name], depth + 1)}`,
    )
    if (this.chance(this.hostility / 4)) fields.push(`"unknown_field":${this.one(HOSTILE_JSON)}`)
    return `{${fields.join(',')}}`
  }

  #number({ minimum = 0, maximum = 1000 }: Schema, type: string): number {
    const value = minimum + this.#random() * (Math.min(maximum, minimum + 1e6) - minimum)
    return this.one([
      minimum,
      maximum,
      minimum - 1,
      maximum + 1,
      type === 'integer' ? Math.round(value) : value,
    ])
  }

  #string({ format, pattern, maxLength = 200, minLength = 0 }: Schema): string {
    if (format === 'uuid' || pattern?.includes('[0-9a-fA-F]{8}')) return this.one(this.ids)
    if (format === 'date-time')
      return new Date(1_700_000_000_000 + this.whole(2e9) * 1000).toISOString()
    if (this.chance(this.hostility / 3))
      return LONG.slice(0, this.one([maxLength, maxLength + 1, minLength, 70_000]))
    return this.chance(0.3) ? this.one(this.ids) : this.one(WORDS)
  }

  /** A text with some of its bytes changed, left out or doubled. */
  mangled(text: string): string {
    let made = text
    for (let n = this.whole(6); n > 0; n--) {
      const at = this.whole(made.length + 1)
      const to = Math.min(made.length, at + this.whole(12))
      made = this.one([
        made.slice(0, at) + made.slice(to),
        made.slice(0, to) + made.slice(at),
        made.slice(0, at) +
          this.one(['\0', '"', '\\', '{', '\ud800', '\r\n', '&', '<', '%', '﻿', ':', ';']) +
          made.slice(at),
      ])
    }
    return made
  }
}
