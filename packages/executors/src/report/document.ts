/** A small document that prints as Markdown or as one HTML page. All text in it is user input and is escaped. */

export interface Table {
  readonly head: readonly string[]
  readonly rows: readonly (readonly (string | number)[])[]
}

export type Block =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly string[] }
  | ({ readonly kind: 'table' } & Table)

export interface Section {
  readonly heading: string
  readonly blocks: readonly Block[]
}

export interface Document {
  readonly title: string
  /** Below the title. */
  readonly intro: readonly string[]
  readonly sections: readonly Section[]
}

/** One line of Markdown that shows exactly these characters. */
export function markdownText(text: string): string {
  return oneLine(text)
    .replaceAll(/[\\`*_[\]<>|~#&]/g, '\\$&')
    .replace(/^(\d+)([.)])/, '$1\\$2')
    .replace(/^([-+=])/, '\\$1')
    .replaceAll(/\b(https?|ftp|www)(:|\.)/gi, '$1\\$2')
}

export function printMarkdown(document: Document): string {
  const intro = document.intro.map(markdownText)
  const sections = document.sections.map((section) =>
    [`## ${markdownText(section.heading)}`, ...section.blocks.map(markdownBlock)].join('\n\n'),
  )
  return `${[`# ${markdownText(document.title)}`, ...intro, ...sections].join('\n\n')}\n`
}

function markdownBlock(block: Block): string {
  if (block.kind === 'text') return markdownText(block.text)
  if (block.kind === 'list') return block.items.map((item) => `- ${markdownText(item)}`).join('\n')
  const line = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell) => markdownText(String(cell))).join(' | ')} |`
  const numeric = numericColumns(block)
  const rule = `| ${block.head.map((_, index) => (numeric[index] ? '---:' : '---')).join(' | ')} |`
  return [line(block.head), rule, ...block.rows.map(line)].join('\n')
}

/** Self-contained: one style, no scripts, nothing loaded. */
export function printHtml(document: Document): string {
  const intro = document.intro.map((text) => `<p>${htmlText(text)}</p>`)
  const sections = document.sections.map(
    (section) =>
      `<section>\n<h2>${htmlText(section.heading)}</h2>\n${section.blocks.map(htmlBlock).join('\n')}\n</section>`,
  )
  const body = [`<h1>${htmlText(document.title)}</h1>`, ...intro, ...sections].join('\n')
  return pageOf(document.title, body)
}

/** `body` is HTML. */
export function pageOf(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${htmlText(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`
}

function htmlBlock(block: Block): string {
  if (block.kind === 'text') return `<p>${htmlText(block.text)}</p>`
  if (block.kind === 'list')
    return `<ul>${block.items.map((item) => `<li>${htmlText(item)}</li>`).join('')}</ul>`
  const numeric = numericColumns(block)
  const cell = (tag: string) => (text: string | number, index: number) =>
    `<${tag}${numeric[index] ? ' class="n"' : ''}>${htmlText(String(text))}</${tag.split(' ', 1)[0]}>`
  const rows = block.rows.map((row) => `<tr>${row.map(cell('td')).join('')}</tr>`)
  return `<table>\n<thead><tr>${block.head.map(cell('th scope="col"')).join('')}</tr></thead>\n<tbody>\n${rows.join('\n')}\n</tbody>\n</table>`
}

export function htmlText(text: string): string {
  return oneLine(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
}

function numericColumns({ head, rows }: Table): boolean[] {
  return head.map((_, index) => rows.every((row) => typeof row[index] === 'number'))
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}' +
  'table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{border-bottom:1px solid #8884;padding:.3rem .6rem;text-align:left;vertical-align:top}' +
  '.n{text-align:right;font-variant-numeric:tabular-nums}h2{margin-top:2rem}'
