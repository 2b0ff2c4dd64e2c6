/** The version of this package, by itself: the command line tells it without loading the server. */
import { readFileSync } from 'node:fs'

export const VERSION = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
).version
