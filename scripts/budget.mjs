// Counts the lines of the sources and fails where they are more than budget.json allows. The numbers only go down: after a change that
// removes lines, write the new ones there. A higher number needs a sentence in the commit that says why.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const budget = JSON.parse(readFileSync(new URL('../budget.json', import.meta.url), 'utf8'))
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'src', 'packages'], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => /(?<!\.test)\.tsx?$/.test(path) && !path.startsWith('packages/console/'))
const linesOf = (path) => readFileSync(path, 'utf8').trimEnd().split('\n').length
const sum = (paths) => paths.reduce((total, path) => total + linesOf(path), 0)

/** Phrases that a reader has to translate (the style guide bans them). */
const ODD = new RegExp(
  [
    "unless said|be it that|\\banew\\b|\\bof late\\b|\\bis none\\b|are none of|names that are none|whoever|whomever|nobody['’]s",
    'told again|wants a look|\\blets? go\\b|what is not said|not said otherwise|\\bby who has\\b|of whom nothing',
    'who may come in|\\b(?:come|comes|came) in\\b(?! (?:bursts|each|several|the order|one|a )\\b)|in nobody|there is nobody',
    'waits for nobody|for nobody|is nobody to|are no business|is no business|so that who\\b|pulled the switch|the switch is',
  ].join('|'),
  'i',
)
const odd = execFileSync(
  'git',
  [
    'grep',
    '-ihE',
    '.',
    '--',
    'src',
    'packages',
    'docs',
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'templates',
    // `is None` is Python.
    ':!*.py',
  ],
  { encoding: 'utf8', maxBuffer: 1 << 28 },
)
  .split('\n')
  .filter((line) => ODD.test(line))

const counted = {
  kernel: sum(files.filter((path) => path.startsWith('src/'))),
  together: sum(files),
  file: Math.max(...files.map(linesOf)),
  oddPhrases: odd.length,
}
let over = false
for (const [name, most] of Object.entries(budget)) {
  over ||= counted[name] > most
  console.log(`${name}: ${counted[name]} of at most ${most}`)
}
process.exit(over ? 1 : 0)
