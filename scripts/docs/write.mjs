// Writes the documentation as static pages: `npm run docs -- [folder] [--source=<address of the repository's files>]`, by default to
// dist/docs, where the server reads them. The folder can be served from anywhere.
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { operations } from '../../src/app/operations.ts'
import { VERSION } from '../../src/version.ts'
import { writeSite } from './site.ts'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
const folder = process.argv.slice(2).find((each) => !each.startsWith('-')) ?? 'dist/docs'
const source = process.argv.find((each) => each.startsWith('--source='))?.slice('--source='.length)
rmSync(folder, { recursive: true, force: true })
const options = { version: VERSION, ...(source === undefined ? {} : { source }) }
console.log(`${writeSite(operations, 'docs', folder, options)} pages in ${folder}`)
