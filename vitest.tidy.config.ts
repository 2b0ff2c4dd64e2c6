import { defineConfig } from 'vitest/config'

/** The tidy test alone, without a database: part of `npm run check`. */
export default defineConfig({ test: { include: ['test/tidy.test.ts'] } })
