/** The reference for people: one self-contained page from the operation table, without scripts. */
import { createHash } from 'node:crypto'
import type { Operation } from '../api/contract.ts'
import { ERRORS } from '../core/errors.ts'
import { DESCRIPTION, IDEMPOTENCY_TEXT, type JsonSchema, schemaOf } from './openapi.ts'

export interface DocsPage {
  readonly html: string
  /** Allows the page's one style by its hash, and nothing else. */
  readonly policy: string
}

export function docsPage(operations: readonly Operation[], version: string): DocsPage {
  const tags = [...new Set(operations.map((op) => op.tag))]
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Wakeful API ${escapeHtml(version)}</title>
<style>${STYLE}</style>
</head>
<body>
<header><h1>Wakeful API <small>${escapeHtml(version)}</small></h1>
<p>${prose(DESCRIPTION)}</p>
<p>For programs: <a href="/openapi.json">OpenAPI description</a>. For agents that read: <a href="/llms.txt">llms.txt</a>. The console is <a href="/">here</a>.</p></header>
<nav aria-label="Contents"><ul>
${tags.map((tag) => contents(tag, operations)).join('\n')}
<li><a href="#conventions">Conventions</a></li>
<li><a href="#errors">Errors</a></li>
</ul></nav>
<main>
${tags.map((tag) => section(tag, operations)).join('\n')}
${CONVENTIONS}
${errorsSection()}
</main>
</body>
</html>
`
  const hash = createHash('sha256').update(STYLE).digest('base64')
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; frame-ancestors 'none'`
  return { html, policy }
}

function contents(tag: string, operations: readonly Operation[]): string {
  const items = operations
    .filter((op) => op.tag === tag)
    .map((op) => `<li><a href="#${op.name}">${escapeHtml(op.summary)}</a></li>`)
  return `<li><a href="#${anchor(tag)}">${escapeHtml(tag)}</a><ul>${items.join('')}</ul></li>`
}

function section(tag: string, operations: readonly Operation[]): string {
  const articles = operations.filter((op) => op.tag === tag).map(article)
  return `<section id="${anchor(tag)}"><h2>${escapeHtml(tag)}</h2>\n${articles.join('\n')}\n</section>`
}

function article(op: Operation): string {
  const roles = op.roles === 'public' ? 'Needs no key' : `Keys: ${op.roles.join(', ')}`
  const notes = [roles, `answers ${op.status}`]
  if (op.creates) notes.push('<a href="#idempotency">Idempotency-Key</a>')
  return `<article id="${op.name}"><h3>${escapeHtml(op.summary)}</h3>
<p class="route"><b>${op.method}</b> <code>${escapeHtml(op.path)}</code></p>
${op.description === undefined ? '' : `<p>${prose(op.description)}</p>`}
<p class="notes">${notes.join(' · ')}</p>
${fields('Path', op.params && schemaOf(op.params, {}))}${fields('Query', op.query && schemaOf(op.query, {}))}${fields('Body', op.body && schemaOf(op.body, {}))}${fields('Answer', op.output === null ? undefined : schemaOf(op.output, {}))}</article>`
}

function fields(title: string, schema: JsonSchema | undefined): string {
  const properties = Object.entries(schema?.properties ?? {})
  if (schema === undefined || properties.length === 0) return ''
  const rows = properties.map(([name, field]) => {
    const required = schema.required?.includes(name) ? ' <em>required</em>' : ''
    const words = field.description === undefined ? '' : prose(field.description)
    return `<tr><td><code>${escapeHtml(name)}</code>${required}</td><td>${escapeHtml(kindOf(field))}</td><td>${words}</td></tr>`
  })
  return `<table><caption>${title}</caption><thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table>\n`
}

/** A short name for a schema: `string`, `integer 1–100`, `"once" | "cron"`, `string[]`. */
export function kindOf(field: JsonSchema): string {
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

function errorsSection(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, title }]) =>
      `<tr id="error-${code}"><td><code>${code}</code></td><td>${status}</td><td>${escapeHtml(title)}</td></tr>`,
  )
  return `<section id="errors"><h2>Errors</h2>
<p>Every error is <code>application/problem+json</code>. Its <code>type</code> points into this table, its <code>errors</code> list all reasons.</p>
<table><thead><tr><th scope="col">Class</th><th scope="col">Status</th><th scope="col">Title</th></tr></thead><tbody>${rows.join('')}</tbody></table></section>`
}

const escapeHtml = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')

/** Escaped text, with `code` in backticks. */
const prose = (text: string) => escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')

const anchor = (tag: string) => `tag-${tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`

const CONVENTIONS = `<section id="conventions"><h2>Conventions</h2>
<h3>Keys</h3><p>Send <code>Authorization: Bearer &lt;key&gt;</code>. Admin and service keys may act for one owner with <code>Wakeful-Act-As: &lt;owner_did or user_id&gt;</code>.</p>
<h3 id="idempotency">Idempotency-Key</h3><p>${prose(IDEMPOTENCY_TEXT)}</p>
<h3>Lists</h3><p>Take <code>limit</code> and <code>cursor</code>, answer <code>{data, next_cursor}</code>; a <code>next_cursor</code> of null means that there is no more.</p>
<h3>Payloads</h3><p>Opaque fields come back as they were posted, digit for digit: at most 64 KiB and 32 levels, no duplicate keys, no U+0000 and no lone surrogates.</p></section>`

const STYLE = `
:root{color-scheme:light dark;--line:#d5d9e0;--soft:#5b6472;--accent:#2456c9}
@media (prefers-color-scheme:dark){:root{--line:#363c47;--soft:#9aa4b2;--accent:#8db2ff}}
body{font:16px/1.55 system-ui,sans-serif;margin:0 auto;max-width:60rem;padding:1.5rem}
a{color:var(--accent)}small,.notes{color:var(--soft)}
code{font:0.92em ui-monospace,monospace;overflow-wrap:anywhere}
article{border-top:1px solid var(--line);padding:.5rem 0 1rem}
.route b{color:var(--accent)}
table{border-collapse:collapse;width:100%;margin:.75rem 0}
caption{text-align:left;font-weight:600;padding:.25rem 0}
th,td{border-bottom:1px solid var(--line);padding:.35rem .75rem .35rem 0;text-align:left;vertical-align:top}
td em{color:var(--soft);font-size:.85em}
:target{outline:2px solid var(--accent);outline-offset:4px}
`
