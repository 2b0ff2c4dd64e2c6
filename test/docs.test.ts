/** What the pages name is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { blocksOf, KINDS, PAGES as WITH_CODE } from './docs/blocks.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const PAGES = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'],
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
/** A path of at least one folder and a file of ours, also without the leading `src/`. */
const FILE = /(?<![\w./-])(?:[\w-]+\/)+[\w.-]+\.(?:ts|mjs|sql|json|txt)\b/g
const LINK = /\]\(([^)#\s]+)(?:#[\w-]*)?\)/g

describe.each(PAGES)('%s', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8')

  it('names files that exist', () => {
    const named = new Set([...text.matchAll(FILE)].map(([path]) => path))
    const missing = [...named].filter(
      (path) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, 'src', path)),
    )
    expect(missing).toEqual([])
  })

  it('links to pages that exist', () => {
    const links = [...text.matchAll(LINK)].map(([, target = '']) => target)
    // The reference is made when it is asked for, and what begins with a slash is the server's.
    const local = links.filter((target) => !/^[a-z]+:|^\/|^api\.md$/.test(target))
    expect(local.filter((target) => !existsSync(join(ROOT, dirname(page), target)))).toEqual([])
  })
})

describe.each(WITH_CODE)('%s', (page) => {
  it(`says of each code block what it is (${Object.keys(KINDS).join(', ')}), so that it can be tried`, () => {
    expect(blocksOf(page).unnamed).toEqual([])
  })
})
