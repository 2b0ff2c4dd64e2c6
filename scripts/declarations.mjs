// Makes the declarations in dist/types stand alone. The code of most packages is bundled, so a user has not got their types: what
// declarations take from them becomes `any`. Packages that a user installs (dependencies and optional peers) keep their types.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const installed = [...Object.keys({ ...dependencies, ...peerDependencies })]
const isInstalled = (name) => installed.some((each) => name === each || name.startsWith(`${each}/`))

const IMPORT = /^import (?:type )?(?:(\w+)|\{([^}]*)\}) from '([^'.][^']*)';?$/gm

const alias = (name) => `type ${name}<A = any, B = any, C = any, D = any> = any;`

function standalone(text) {
  return text.replace(IMPORT, (line, whole, names, from) => {
    if (from.startsWith('node:') || isInstalled(from)) return line
    if (whole !== undefined) {
      const used = new Set(
        [...text.matchAll(new RegExp(`\\b${whole}\\.(\\w+)`, 'g'))].map(([, each]) => each),
      )
      return `declare namespace ${whole} { ${[...used].map((each) => `export ${alias(each)}`).join(' ')} }`
    }
    const given = names.split(',').map((name) => name.trim().replace(/^type /, ''))
    return given.map((name) => alias(name.split(' as ').at(-1))).join(' ')
  })
}

for (const entry of readdirSync('dist/types', { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !entry.name.endsWith('.d.ts')) continue
  const path = `${entry.parentPath ?? entry.path}/${entry.name}`
  const before = readFileSync(path, 'utf8')
  const after = standalone(before)
  if (after !== before) writeFileSync(path, after)
}
