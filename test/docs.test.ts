/** What the pages name is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { blocksOf, KINDS, PAGES as WITH_CODE } from './docs/blocks.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const PAGES = [
  ...['README.md', 'SKILL.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'],
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
/** On every page that uses the command or the package; with one edit here it can say something else everywhere. */
const INSTALL = 'Wakeful is not on npm yet: [install it from a clone](install.md).'
/** A path of at least one folder and a file of ours, also without the leading `src/`. */
const FILE = /(?<![\w./-])(?:[\w-]+\/)+[\w.-]+\.(?:ts|mjs|sql|json|txt)\b/g
const LINK = /\]\(([^)#\s]+)(?:#[\w-]*)?\)/g

describe.each(PAGES)('%s', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8')

  it('names files that exist', () => {
    const named = new Set([...text.matchAll(FILE)].map(([path]) => path))
    const missing = [...named].filter(
      (path) => !['', 'src', 'packages'].some((folder) => existsSync(join(ROOT, folder, path))),
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
  it('says how to install what its code uses, as long as npm does not have it', () => {
    const code = blocksOf(page).blocks.map(({ text }) => text)
    const uses = /\bnpx wakeful\b|"wakeful", "mcp"|^wakeful |from 'wakeful[/']/m
    expect(code.filter((text) => /npm install (?:\S+ )*wakeful(?: |$)/m.test(text))).toEqual([])
    const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(
      /\((?:\.\.\/)?(?:docs\/)?install\.md/g,
      '(install.md',
    )
    if (page !== 'docs/install.md' && code.some((each) => uses.test(each)))
      expect(text).toContain(INSTALL)
  })

  it(`says of each code block what it is (${Object.keys(KINDS).join(', ')}), so that it can be tried`, () => {
    expect(blocksOf(page).unnamed).toEqual([])
  })
})
