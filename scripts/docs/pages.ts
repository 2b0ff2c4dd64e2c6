/**
 * The pages of the documentation as Markdown: `/docs/<page>.md` is a file of docs/, `/docs/api.md` is the reference, made from the
 * operation table, and `/llms.txt` lists them for agents. `site.ts` makes HTML of them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Operation } from '../../src/api/contract.ts'
import { ERRORS } from '../../src/core/errors.ts'
import {
  DESCRIPTION,
  type Example,
  type Examples,
  IDEMPOTENCY_TEXT,
  type JsonSchema,
  schemaOf,
} from '../../src/http/openapi.ts'

export const EXAMPLES = 'examples.json'

export interface Page {
  readonly url: string
  readonly title: string
  readonly text: string
}

/** The reference, then the pages of the folder by their names; without the folder, the reference alone. */
export function pagesOf(
  operations: readonly Operation[],
  version: string,
  folder: string | null,
): readonly Page[] {
  const reference = {
    url: '/docs/api.md',
    title: 'The HTTP API: every operation with its fields',
    text: apiMarkdown(operations, version, examplesIn(folder)),
  }
  const written = filesIn(folder, '.md').map(([url, file]) => {
    const text = readFileSync(file, 'utf8')
    return { url, title: /^# (.+)$/m.exec(text)?.[1] ?? url, text }
  })
  return [reference, ...written]
}

/** A call of each operation with its answer. */
function examplesIn(folder: string | null): Examples {
  const file = join(folder ?? '', EXAMPLES)
  return folder !== null && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

/** The pictures of those pages: where each is read, and its file. */
export function picturesOf(folder: string | null): ReadonlyMap<string, string> {
  return new Map(filesIn(folder, '.png'))
}

function filesIn(folder: string | null, ending: string): [url: string, file: string][] {
  const names = folder === null ? [] : readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => [`/docs/${name.replaceAll('\\', '/')}`, join(folder ?? '', name)])
}

/** As llmstxt.org describes it. */
export function llmsText(pages: readonly Page[], version: string): string {
  const lines = pages.map(({ url, title }) => `- [${title}](${url})`)
  return `# Wakeful ${version}

> ${DESCRIPTION}

Over MCP the same is at \`POST /mcp\`. Without a key nothing but these pages is open, unless the server says otherwise.

## Docs

${lines.join('\n')}

## Optional

- [OpenAPI description](/openapi.json)
`
}

function apiMarkdown(
  operations: readonly Operation[],
  version: string,
  examples: Examples,
): string {
  const tags = [...new Set(operations.map((op) => op.tag))]
  const sections = tags.map((tag) =>
    [
      `## ${tag}`,
      ...operations
        .filter((op) => op.tag === tag)
        .map((op) => operationText(op, examples[op.name])),
    ].join('\n\n'),
  )
  const errors = Object.entries(ERRORS).map(
    ([code, { status, title }]) => `| \`${code}\` | ${status} | ${cell(title)} |`,
  )
  return `${[
    `# Wakeful API ${version}`,
    DESCRIPTION,
    'Send `Authorization: Bearer <key>`. Admin and service keys may act for one owner with `Wakeful-Act-As: <owner_did or user_id>`. Lists take `limit` and `cursor` and answer `{data, next_cursor}`; those of intents take `limit` and `offset` and answer a plain array.',
    `\`Idempotency-Key\`: ${IDEMPOTENCY_TEXT}`,
    ...sections,
    '## Errors',
    ['| class | status | title |', '|---|---|---|', ...errors].join('\n'),
  ].join('\n\n')}\n`
}

function operationText(op: Operation, example: Example | undefined): string {
  const roles = op.roles === 'public' ? 'Needs no key' : `Keys: ${op.roles.join(', ')}`
  const notes = [roles, `answers ${op.status}`, ...(op.creates ? ['takes `Idempotency-Key`'] : [])]
  const parts = [
    fieldsText('Path', op.params && schemaOf(op.params, {})),
    fieldsText('Query', op.query && schemaOf(op.query, {})),
    fieldsText('Body', op.body && schemaOf(op.body, {})),
    fieldsText('Answer', op.output === null ? undefined : schemaOf(op.output, {})),
    example === undefined ? '' : exampleText(op, example),
  ]
  return [
    `### ${op.summary}`,
    `\`${op.method} ${op.path}\` (\`${op.name}\`). ${op.description ?? ''}`.trimEnd(),
    `${notes.join('; ')}.`,
    ...parts.filter((part) => part !== ''),
  ].join('\n\n')
}

function exampleText({ method }: Operation, { path, body, answer }: Example): string {
  const json = [body, answer].map((each) => (each ? JSON.stringify(each, null, 2) : ''))
  const text = [`${method} ${path}`, ...json].filter((each) => each !== '').join('\n\n')
  return `\`\`\`text\n${text}\n\`\`\``
}

function fieldsText(title: string, schema: JsonSchema | undefined): string {
  const properties = Object.entries(schema?.properties ?? {})
  if (schema === undefined || properties.length === 0) return ''
  const rows = properties.map(([name, field]) => {
    const required = schema.required?.includes(name) ? ', required' : ''
    return `| \`${name}\` | ${cell(kindOf(field))}${required} | ${cell(field.description ?? '')} |`
  })
  return [`${title}:`, '', '| field | type | meaning |', '|---|---|---|', ...rows].join('\n')
}

/** A short name for a schema: `string`, `integer 1–100`, `"once" | "cron"`, `string[]`. */
function kindOf(field: JsonSchema): string {
  const values = field.enum as unknown[] | undefined
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ')
  if ('const' in field) return JSON.stringify(field.const)
  const forms = (field.anyOf ?? field.oneOf) as JsonSchema[] | undefined
  if (forms !== undefined) return [...new Set(forms.map(kindOf))].join(' | ')
  if (field.type === 'array') return `${kindOf((field.items ?? {}) as JsonSchema)}[]`
  const reference = field.$ref
  const name =
    field.type ?? (typeof reference === 'string' ? reference.split('/').at(-1) : undefined)
  const { minimum, maximum } = field as { minimum?: number; maximum?: number }
  // A safe integer's own bounds say nothing to a reader.
  const low = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined
  const high = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined
  const bounds = low === undefined && high === undefined ? '' : ` ${low ?? '…'}–${high ?? '…'}`
  const preset = field.default === undefined ? '' : ` = ${JSON.stringify(field.default)}`
  return `${name ?? 'any JSON'}${bounds}${preset}`
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
