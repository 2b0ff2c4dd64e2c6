/** Runs for each test file, while the modules it loads may be those of an earlier one. */
import { afterAll, afterEach } from 'vitest'
import { endFile, endTest, guardExitAgain, keepExit } from './ends.ts'

guardExitAgain()
afterEach(endTest)
afterAll(endFile)
afterAll(keepExit)
