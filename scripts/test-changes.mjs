// `node scripts/test-changes.mjs [base]`: which tests changed in more than imports and renames since `base` (main's parent by default).
// Renames are read from test/golden/renames.json: word → word. What is left after both are applied is printed as a difference.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const git = (...args) => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 28 })
const base = process.argv[2] ?? 'HEAD~1'
const renames = Object.entries(JSON.parse(readFileSync('test/golden/renames.json', 'utf8')))

/** Without imports, formatting and the order of lines that imports leave behind. */
function bare(text) {
  let plain = text.replaceAll(/^import[\s\S]*?from '[^']*'\n|^import '[^']*'\n/gm, '')
  for (const [was, is] of renames) plain = plain.replaceAll(new RegExp(`\\b${was}\\b`, 'g'), is)
  return plain.replaceAll(/[\s,;()]+/g, ' ').trim()
}

const changed = git('diff', '-M40%', '--name-status', base, '--', 'test', '*.test.ts')
  .trim()
  .split('\n')
  .filter(Boolean)
  .map((line) => line.split('\t'))
const more = []
for (const [status, was, is = was] of changed) {
  if (!is.endsWith('.ts')) continue
  if (status === 'A' || status === 'D') more.push(`${status} ${is}`)
  else if (bare(git('show', `${base}:${was}`)) !== bare(readFileSync(is, 'utf8')))
    more.push(`M ${is}`)
}
for (const line of more) console.log(line)
console.log(
  `${changed.length} test files changed, ${more.length} of them in more than imports and renames`,
)
