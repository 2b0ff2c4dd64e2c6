// Writes the docs as static pages: `npm run docs -- [folder] [--source=<address of the repository's files>]`. The folder is
// .cache/docs unless said; it can be served from anywhere.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { operations } from '../src/app/operations.ts'
import { openSite } from '../src/http/docs-site.ts'
import { pagesOf } from '../src/http/reading-docs.ts'
import { VERSION } from '../src/version.ts'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const folder = process.argv.slice(2).find((each) => !each.startsWith('-')) ?? '.cache/docs'
const source = process.argv.find((each) => each.startsWith('--source='))?.slice('--source='.length)

const pages = pagesOf(operations, VERSION, 'docs')
const site = openSite(pages, { version: VERSION, ...(source === undefined ? {} : { source }) })
rmSync(folder, { recursive: true, force: true })
for (const path of site.paths) put(path, site.page(path))
for (const { url, text } of pages) put(url.slice('/docs/'.length), text)
cpSync('docs/images', join(folder, 'images'), { recursive: true })
console.log(`${site.paths.length} pages in ${folder}`)

function put(path, text) {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
