/** Runs for each test file, while the modules it loads may be those of an earlier one. */
import { readFileSync } from 'node:fs'
import { afterAll, afterEach } from 'vitest'
import { endFile, endTest, guardExitAgain, keepExit } from './ends.ts'

/** The library reads the environment, and a developer may have one: tests begin with none of the settings. */
const SETTINGS = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8')
for (const [, name = ''] of SETTINGS.matchAll(/^\| `([A-Z0-9_]+)` \|/gm)) delete process.env[name]

guardExitAgain()
afterEach(endTest)
afterAll(endFile)
afterAll(keepExit)
