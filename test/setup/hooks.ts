/** Runs for each test file, while the modules it loads may be those of an earlier one. */
import { afterAll, afterEach } from 'vitest'
import { endFile, endTest } from './ends.ts'

afterEach(endTest)
afterAll(endFile)
