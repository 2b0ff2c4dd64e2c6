/**
 * Cases as data: cron expressions with the instants they fire at, phrases with what they mean, and what goes over the
 * wire. Each names the project or standard it was taken from (`own`: none).
 */
import { readFileSync } from 'node:fs'

export function loadCases<T>(name: 'cron' | 'frequency' | 'wire'): T {
  return JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8')) as T
}

export interface WireCases {
  readonly signature: {
    readonly secret: string
    readonly id: string
    readonly timestamp: number
    readonly body: string
    readonly signature: string
  }
  readonly addresses: { readonly deny: readonly string[]; readonly allow: readonly string[] }
  readonly payloads: readonly string[]
}
