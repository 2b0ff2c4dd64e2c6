/** `wakeful init [folder]`: a small app that runs, with a test of it on a test clock. Writes files, and installs nothing. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Command, Option } from 'commander'
import { ROOT } from '../../../src/root.ts'
import { EXIT, UsageError } from './exit.ts'

const AGENTS = ['function', 'ai-sdk', 'openai', 'anthropic', 'langgraph', 'python'] as const
const LANGUAGES = ['typescript', 'javascript'] as const
type AgentKind = (typeof AGENTS)[number]
type Language = (typeof LANGUAGES)[number]

interface Flags {
  readonly agent?: AgentKind
  readonly language?: Language
}

interface Wanted {
  readonly name: string
  readonly agent: AgentKind
  readonly language: Language
}

export function initCommand(): Command {
  return new Command('init')
    .description('write a small app to begin with')
    .argument('[folder]', 'a new or empty one', '.')
    .addOption(new Option('--agent <kind>', 'what the agent is').choices(AGENTS))
    .addOption(new Option('--language <language>', 'what it is written in').choices(LANGUAGES))
    .action(init)
}

async function init(folder: string, flags: Flags): Promise<void> {
  const path = resolve(folder)
  if (existsSync(path) && readdirSync(path).some((name) => name !== '.git'))
    throw new UsageError(`${path} is not empty: give a new or empty folder`)
  const wanted = await settled(nameOf(path), flags)
  const own = ownManifest()
  const range = isFromRegistry() ? `^${own.version}` : `file:wakeful-${own.version}.tgz`
  const files = filesOf(wanted, own, range)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  if (range.startsWith('file:')) packOwn(path)
  const there = folder === '.' ? '' : `cd ${folder} && `
  process.stdout.write(
    `wrote ${Object.keys(files).join(', ')}\n\n  ${there}npm install\n  npm test     # on a test clock\n  npm start    # http://127.0.0.1:8787\n`,
  )
}

/** What was not said is asked on a terminal, and the first there is elsewhere. */
async function settled(name: string, flags: Flags): Promise<Wanted> {
  const agent = flags.agent ?? (await choice('What is the agent?', AGENTS))
  if (agent === 'python') {
    if (flags.language === 'typescript')
      throw new UsageError('--language: beside an agent in Python there is JavaScript alone')
    return { name, agent, language: 'javascript' }
  }
  const language = flags.language ?? (await choice('What is it written in?', LANGUAGES))
  return { name, agent, language }
}

async function choice<T extends string>(
  question: string,
  choices: readonly [T, ...T[]],
): Promise<T> {
  const [first] = choices
  if (!process.stdin.isTTY || !process.stdout.isTTY) return first
  const asked = createInterface({ input: process.stdin, output: process.stdout })
  // Ended at a prompt: write nothing.
  asked.once('SIGINT', () => process.exit(EXIT.usage))
  try {
    for (;;) {
      const said = (await asked.question(`${question} ${choices.join(', ')} [${first}] `)).trim()
      const found = said === '' ? first : choices.find((each) => each === said.toLowerCase())
      if (found !== undefined) return found
    }
  } finally {
    asked.close()
  }
}

/** As npm takes it. */
function nameOf(path: string): string {
  const name = basename(path)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
  return name === '' ? 'agent' : name
}

interface OwnManifest {
  readonly version: string
  readonly devDependencies: Readonly<Record<string, string>>
}

function ownManifest(): OwnManifest {
  return JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as OwnManifest
}

/** npm notes beside the packages it installs where each came from. A clone or a packed file is not from a registry. */
function isFromRegistry(): boolean {
  const notes = `${ROOT}../.package-lock.json`
  if (!existsSync(notes)) return false
  const { packages } = JSON.parse(readFileSync(notes, 'utf8')) as {
    packages: Readonly<Record<string, { readonly resolved?: string }>>
  }
  return packages['node_modules/wakeful']?.resolved?.startsWith('http') === true
}

/** Puts this package beside the app that needs it, so that the app can be installed where no registry has it. */
function packOwn(path: string): void {
  const args = ['pack', ROOT, '--silent', '--ignore-scripts', '--pack-destination', path]
  execFileSync('npm', args, { stdio: ['ignore', 'ignore', 2], shell: process.platform === 'win32' })
}

function filesOf(wanted: Wanted, own: OwnManifest, range: string): Record<string, string> {
  const { name, agent, language } = wanted
  const extension = language === 'typescript' ? 'ts' : 'js'
  const read = (path: string) =>
    readFileSync(`${ROOT}templates/${path}`, 'utf8')
      .replaceAll('{{name}}', name)
      .replaceAll('{{ext}}', extension)
  const common = {
    'package.json': `${JSON.stringify(packageOf(wanted, own, range), null, 2)}\n`,
    'README.md': read(`${agent}/README.md`),
    '.gitignore': read('gitignore'),
  }
  if (agent === 'python')
    return {
      'agent.py': readFileSync(`${ROOT}examples/remote-agent/agent.py`, 'utf8'),
      ...pythonPackage(),
      'agent.js': read('python/agent.js'),
      'main.js': read('python/main.js'),
      'agent.test.js': read('python/agent.test.js'),
      ...common,
    }
  return {
    [`app.${extension}`]: read(`${agent}/app.${extension}`),
    [`app.test.${extension}`]: read(`${agent}/app.test.${extension}`),
    ...(language === 'typescript' ? { 'tsconfig.json': read('tsconfig.json') } : {}),
    ...common,
  }
}

/** Beside the agent, as long as PyPI does not have it. */
function pythonPackage(): Record<string, string> {
  const home = `${ROOT}packages/python/src/wakeful/`
  const names = readdirSync(home).filter((name) => name.endsWith('.py') || name === 'py.typed')
  return Object.fromEntries(
    names.map((name) => [`wakeful/${name}`, readFileSync(`${home}${name}`, 'utf8')]),
  )
}

/**
 * Of other packages exactly the versions that this one is tested with: later ones of a family need not fit together, and
 * langgraph-sdk 1.12.9 wants another core than langgraph 1.4.18 has, over which npm never ends.
 */
function packageOf({ name, agent, language }: Wanted, own: OwnManifest, range: string): object {
  const tested = (names: readonly string[]) =>
    Object.fromEntries(names.map((each) => [each, own.devDependencies[each]]))
  const typed = language === 'typescript'
  return {
    name,
    private: true,
    type: 'module',
    scripts: scriptsOf(agent, typed),
    dependencies: {
      ...tested(PACKAGES[agent] ?? []),
      wakeful: range,
    },
    ...(typed ? { devDependencies: tested(TYPES) } : {}),
  }
}

const PACKAGES: Partial<Record<AgentKind, readonly string[]>> = {
  'ai-sdk': ['@ai-sdk/openai-compatible', 'ai'],
  openai: ['openai'],
  anthropic: ['@anthropic-ai/sdk'],
  langgraph: [
    '@langchain/core',
    '@langchain/langgraph',
    '@langchain/langgraph-checkpoint',
    '@langchain/langgraph-sdk',
  ],
}
const TYPES = ['@types/node', 'tsx', 'typescript']

function scriptsOf(agent: AgentKind, typed: boolean): Record<string, string> {
  if (agent === 'python') return { start: 'node main.js', test: 'node --test' }
  if (!typed) return { start: 'wakeful serve app.js', test: 'node --test' }
  return {
    start: 'wakeful serve app.ts',
    test: 'node --import tsx --test app.test.ts',
    check: 'tsc',
  }
}
