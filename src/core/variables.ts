/** Reads variables one by one and collects what is wrong with them. */
import ipaddr from 'ipaddr.js'
import { callRefusal } from './calls/address.ts'
import { KEY_PART, parseDid } from './session.ts'

export const ADMIN_KEY_CHARACTERS_MIN = 32
export const HTTP_URL = 'an http:// or https:// URL'
const NOT_SHOWN = 'another value (not shown)'

/** Collects what is wrong, so that one start tells all of it. An empty variable counts as unset. */
export class Reader {
  readonly wrong: string[] = []
  private readonly env: NodeJS.ProcessEnv

  constructor(env: NodeJS.ProcessEnv) {
    this.env = env
  }

  text(name: string): string | null {
    const value = this.env[name]?.trim()
    return value === undefined || value === '' ? null : value
  }

  /** As it was set: empty is a value of its own. */
  given(name: string): string | null {
    return this.env[name]?.trim() ?? null
  }

  checked(
    name: string,
    isRight: (value: string) => boolean,
    takes: string,
    kind: 'plain' | 'secret' = 'plain',
  ): string | null {
    const value = this.text(name)
    if (value === null || isRight(value)) return value
    this.refuse(name, kind === 'secret' ? NOT_SHOWN : shown(value), takes)
    return null
  }

  /** `parse` answers undefined for what it does not take. */
  parsed<T>(name: string, parse: (value: string) => T | undefined, takes: string): T | undefined {
    const value = this.checked(name, (text) => parse(text) !== undefined, takes)
    return value === null ? undefined : parse(value)
  }

  whole(name: string, min: number, max: number, preset: number): number {
    const inRange = (value: string) => /^\d{1,15}$/.test(value) && +value >= min && +value <= max
    const value = this.checked(name, inRange, `a whole number from ${min} to ${max}`)
    return value === null ? preset : Number(value)
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | null {
    const value = this.text(name)
    const found = values.find((known) => known === value?.toLowerCase())
    if (value !== null && found === undefined) this.refuse(name, shown(value), values.join(', '))
    return found ?? null
  }

  flag(name: string, preset: boolean): boolean {
    const word = this.oneOf(name, ['true', 'false', '1', '0'])
    return word === null ? preset : word === 'true' || word === '1'
  }

  /** An address that we call. It may hold a key, so it is not repeated. */
  outgoingUrl(name: string): string | null {
    const url = this.checked(name, isHttpUrl, HTTP_URL, 'secret')
    return url !== null && this.mayBeCalled(name, url) ? url : null
  }

  /** Several, separated by commas; a comma within one is written %2C. */
  outgoingUrls(name: string, max: number): readonly string[] {
    const urls = (this.text(name) ?? '').split(',').flatMap((each) => each.trim() || [])
    const right = urls.length <= max && urls.every(isHttpUrl)
    if (!right) this.refuse(name, NOT_SHOWN, `up to ${max} of ${HTTP_URL}, separated by commas`)
    return right ? urls.filter((url) => this.mayBeCalled(name, url)) : []
  }

  mayBeCalled(name: string, url: string): boolean {
    const anywhere = /^(true|1)$/i.test(this.text('WAKEFUL_ALLOW_PRIVATE_WEBHOOKS') ?? '')
    const refusal = callRefusal(url, anywhere)
    const takes = 'a public address, or any with WAKEFUL_ALLOW_PRIVATE_WEBHOOKS=true'
    if (refusal !== null) this.refuse(name, refusal, takes)
    return refusal === null
  }

  refuse(name: string, got: string, takes: string): void {
    this.wrong.push(`${name}: got ${got}, takes ${takes}`)
  }
}

export const shown = (value: string) =>
  JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)

export function isHttpUrl(value: string): boolean {
  return /^https?:\/\//i.test(value) && URL.canParse(value)
}

export function isEndpoint(value: string): boolean {
  return isHttpUrl(value) && callRefusal(value, true) === null && !/[?#]/.test(value)
}

export function isDatabaseUrl(value: string): boolean {
  if (value === 'memory:') return true
  if (value.startsWith('pglite:')) return value.length > 'pglite:'.length
  return /^postgres(?:ql)?:\/\//.test(value) && URL.canParse(value)
}

/** The address of a database, for a log. */
export function withoutPassword(url: string): string {
  return url
    .replace(/^(\w+:\/\/[^:/?#]*):.*@/, '$1:***@')
    .replace(/([?&](?:ssl)?password=)[^&#]*/gi, '$1***')
}

export function isHost(value: string): boolean {
  return ipaddr.isValid(value) || /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i.test(value)
}

export function isToken(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value)
}

export function isAdminKey(value: string): boolean {
  return value.length >= ADMIN_KEY_CHARACTERS_MIN && isToken(value)
}

export function isOwner(value: string): boolean {
  return KEY_PART.test(value) || parseDid(value) !== null
}

export const USD_FORM = 'an amount above 0, such as 2.50'

export function readUsd(text: string): number | undefined {
  const usd = /^\d{1,9}(\.\d{1,6})?$/.test(text) ? Number(text) : 0
  return usd > 0 ? usd : undefined
}

export const SCHEMA_FORM =
  'a name of small letters, digits and "_" with at most 41 characters, that does not begin with a digit or "pg_", does not end in "_" and digits, and is not "public" or "information_schema"'

/** Names ending in `_<number>` are reserved for shards, and system schemas are refused. */
export function isSchema(name: string): boolean {
  return /^(?!pg_|public$|information_schema$)(?!.*_\d+$)[a-z_][a-z0-9_]{0,40}$/.test(name)
}
