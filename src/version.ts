/** The version of this package, by itself: the command line tells it without loading the server. */
import { readFileSync } from 'node:fs'
import { ROOT } from './root.ts'

export const VERSION = (
  JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string }
).version
