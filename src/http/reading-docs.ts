/**
 * The pages for agents that read: `/llms.txt` says what there is, `/docs/<page>.md` are the pages of docs/ as they are written, and
 * `/docs/api.md` is the reference, from the operation table.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Operation } from '../api/contract.ts'
import { ERRORS } from '../core/errors.ts'
import { kindOf } from './docs.ts'
import { DESCRIPTION, IDEMPOTENCY_TEXT, type JsonSchema, schemaOf } from './openapi.ts'

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
    text: apiMarkdown(operations, version),
  }
  const names = folder === null ? [] : readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const written = names
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => {
      const text = readFileSync(join(folder ?? '', name), 'utf8')
      const title = /^# (.+)$/m.exec(text)?.[1] ?? name
      return { url: `/docs/${name.replaceAll('\\', '/')}`, title, text }
    })
  return [reference, ...written]
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

function apiMarkdown(operations: readonly Operation[], version: string): string {
  const tags = [...new Set(operations.map((op) => op.tag))]
  const sections = tags.map((tag) =>
    [`## ${tag}`, ...operations.filter((op) => op.tag === tag).map(operationText)].join('\n\n'),
  )
  const errors = Object.entries(ERRORS).map(
    ([code, { status, title }]) => `| \`${code}\` | ${status} | ${cell(title)} |`,
  )
  return `${[
    `# Wakeful API ${version}`,
    DESCRIPTION,
    'Send `Authorization: Bearer <key>`. Admin and service keys may act for one owner with `Wakeful-Act-As: <owner_did or user_id>`. Lists take `limit` and `cursor` and answer `{data, next_cursor}`.',
    `\`Idempotency-Key\`: ${IDEMPOTENCY_TEXT}`,
    ...sections,
    '## Errors',
    ['| class | status | title |', '|---|---|---|', ...errors].join('\n'),
  ].join('\n\n')}\n`
}

function operationText(op: Operation): string {
  const roles = op.roles === 'public' ? 'Needs no key' : `Keys: ${op.roles.join(', ')}`
  const notes = [roles, `answers ${op.status}`, ...(op.creates ? ['takes `Idempotency-Key`'] : [])]
  const parts = [
    fieldsText('Path', op.params && schemaOf(op.params, {})),
    fieldsText('Query', op.query && schemaOf(op.query, {})),
    fieldsText('Body', op.body && schemaOf(op.body, {})),
    fieldsText('Answer', op.output === null ? undefined : schemaOf(op.output, {})),
  ]
  return [
    `### ${op.method} ${op.path}`,
    `\`${op.name}\`: ${op.summary}. ${op.description ?? ''}`.trimEnd(),
    `${notes.join('; ')}.`,
    ...parts.filter((part) => part !== ''),
  ].join('\n\n')
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

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
