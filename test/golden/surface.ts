/** The public surface as text: what a change of the tree must leave as it is, or list in CHANGELOG.md. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { operations } from '../../src/app/operations.ts'
import { ERRORS } from '../../src/core/errors.ts'
import { openApi } from '../../src/http/openapi.ts'
import { toolsOf } from '../../src/mcp/tool.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { ROOT } from '../../src/root.ts'
import { BIN, ensureBuilt } from '../process/server.ts'

/** One line for each, so that a difference names what changed. */
const lines = (values: readonly unknown[]) =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('')

function openApiLines(): string {
  const { paths, components, ...head } = openApi(operations, '0.0.0') as {
    paths: Record<string, Record<string, object>>
    components: { schemas: Record<string, object> }
  }
  const each = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, op]) => ({ path, method, ...op })),
  )
  return lines([head, ...each, ...Object.entries(components.schemas)])
}

function mcpTools(): string {
  return lines(
    [...toolsOf(operations).values()].map(
      ({ name, title, description, annotations, inputSchema, outputSchema }) => ({
        ...{ name, title, description, annotations, inputSchema, outputSchema },
      }),
    ),
  )
}

/** The help of the program and of every command below it. */
function cliHelp(path: readonly string[] = []): string {
  const { stdout } = spawnSync(process.execPath, [BIN, ...path, '--help'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, COLUMNS: '100' },
  })
  const listed = /^Commands:\n((?: {2}.*\n)*)/m.exec(stdout)?.[1] ?? ''
  const names = [...listed.matchAll(/^ {2}([a-z][\w-]*)/gm)].map((match) => match[1] ?? '')
  const below = names.filter((name) => name !== 'help').map((name) => cliHelp([...path, name]))
  return [`$ wakeful ${[...path, '--help'].join(' ')}\n${stdout}`, ...below].join('\n')
}

/** Each entry point with the declarations behind its names. */
function declarations(): string {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    exports: Record<string, { types: string }>
  }
  return Object.entries(exports)
    .map(([entry, { types }]) => {
      const found = exportedFrom(join(ROOT, types))
      const texts = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
      return `// wakeful${entry.slice(1)}\n${texts.join('\n')}`
    })
    .join('\n')
}

const NAMED = /^export (?:type )?\{([^}]*)\}(?: from '([^']+)')?;/gm
const DECLARED =
  /^export (?:declare )?(?:abstract )?(?:interface|type|class|function|const|enum) (\w+)/

/** By name. A declaration ends where the next one begins: tsc writes each at the start of a line. */
export function exportedFrom(path: string): Map<string, string> {
  const text = readFileSync(path, 'utf8')
  const found = new Map<string, string>()
  for (const block of text.split(/^(?=(?:export|declare|interface|type|import)\b|\/\*\*)/m)) {
    const name = DECLARED.exec(block)?.[1]
    if (name !== undefined) found.set(name, (found.get(name) ?? '') + block)
  }
  for (const [, names = '', from] of text.matchAll(NAMED)) {
    const behind = from?.startsWith('.')
      ? exportedFrom(join(dirname(path), from.replace(/\.[jt]s$/, '.d.ts')))
      : found
    for (const each of names.split(',').map((name) => name.trim().replace(/^type /, ''))) {
      const [own = '', shown = own] = each.split(' as ')
      if (own !== '') found.set(shown, behind.get(own) ?? `${own} from ${from}\n`)
    }
  }
  for (const [, from = ''] of text.matchAll(/^export \* from '(\.[^']+)';/gm))
    for (const [name, block] of exportedFrom(
      join(dirname(path), from.replace(/\.[jt]s$/, '.d.ts')),
    ))
      found.set(name, block)
  return found
}

async function metrics(): Promise<string> {
  const made = createMetrics()
  const all = await made.registry.getMetricsAsJSON()
  made.close()
  return all
    .map(({ name, type, help }) => `${name} ${type}: ${help}\n`)
    .sort()
    .join('')
}

/** The table of errors, and every text with which something is refused. */
function errors(): string {
  const texts = new Set<string>()
  const files = ['src', 'packages']
    .filter((folder) => existsSync(join(ROOT, folder)))
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
        join(ROOT, folder, file),
      ),
    )
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
  for (const file of files) {
    const source = readFileSync(file, 'utf8')
    for (const [, code = '', text = ''] of source.matchAll(
      /new Refusal\(\s*'(\w+)',\s*(`(?:[^`\\]|\\.)*`|'(?:[^'\\]|\\.)*')/g,
    ))
      texts.add(`${code}: ${text.slice(1, -1)}\n`)
  }
  return lines(Object.entries(ERRORS)) + [...texts].sort().join('')
}

/** Each file of this folder, as it should be. */
export async function surface(): Promise<Record<string, string>> {
  ensureBuilt()
  return {
    'openapi.jsonl': openApiLines(),
    'mcp-tools.jsonl': mcpTools(),
    'cli-help.txt': cliHelp(),
    'declarations.txt': declarations(),
    'metrics.txt': await metrics(),
    'errors.txt': errors(),
  }
}
