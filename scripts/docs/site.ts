/**
 * The documentation as static HTML without scripts. Pages link to each other by relative addresses, so the same files work under `/docs`
 * of a server and in any folder. The list of links in docs/README.md stands beside each page.
 */
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { Marked, type Token, type Tokens } from 'marked'
import type { Operation } from '../../src/api/contract.ts'
import { ERRORS } from '../../src/core/errors.ts'
import { EXAMPLES, llmsText, type Page, pagesOf, picturesOf } from './pages.ts'

export interface SiteOptions {
  readonly version: string
  /** Where links that leave the pages lead, such as the address of the repository; without it they are text. */
  readonly source?: string
}

interface Site {
  /** Of every page within the site, such as `operations/running.html`. */
  readonly paths: readonly string[]
  /**
   * A page, or null without one. `root` leads from the address it is read at to the first page; by default by the depth of
   * its path.
   */
  page(path: string, root?: string): string | null
}

const INDEX = 'index.html'
const DOCS = '/docs/'
/** Pages with so many headings say at their top what is on them. */
const CONTENTS_MIN = 6

interface Entry {
  readonly path: string
  readonly title: string
  readonly tokens: readonly Token[]
}

function openSite(pages: readonly Page[], options: SiteOptions): Site {
  const reader = new Marked({ gfm: true })
  const entries = new Map<string, Entry>()
  for (const { url, title, text } of pages) {
    const path = pathOf(url.slice(DOCS.length))
    entries.set(path, { path, title, tokens: reader.lexer(text) })
  }
  // Without written pages the reference is all there is.
  const home = entries.get(INDEX) ?? [...entries.values()][0]
  const listed = home === undefined ? [] : groupsOf(home.tokens, entries)
  const named = new Set([INDEX, ...listed.flatMap(({ links }) => links.map(({ path }) => path))])
  const rest = [...entries.values()].filter(({ path }) => !named.has(path))
  const groups = rest.length === 0 ? listed : [...listed, { title: 'More', links: rest }]
  return {
    paths: [...new Set([INDEX, ...entries.keys()])],
    page(path, root = '../'.repeat(path.split('/').length - 1)) {
      const entry = entries.get(path) ?? (path === INDEX ? home : undefined)
      if (entry === undefined) return null
      const body = bodyOf(entry, { known: entries, root, ...options })
      const nav = navOf(groups, entry.path, root)
      const errors = path === INDEX ? errorsSection() : ''
      return shell(entry.title, options.version, nav, body + errors, root)
    },
  }
}

/**
 * Writes everything that a server answers under `/docs`, and llms.txt. `root.html` is the first page for readers at `/docs`, where relative
 * links begin one folder higher. Returns the number of pages.
 */
export function writeSite(
  operations: readonly Operation[],
  docs: string | null,
  into: string,
  options: SiteOptions,
): number {
  const pages = pagesOf(operations, options.version, docs)
  const site = openSite(pages, options)
  const put = (path: string, text: string | null) => {
    const file = join(into, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text ?? '')
  }
  for (const path of site.paths) put(path, site.page(path))
  for (const { url, text } of pages)
    put(url.slice(DOCS.length), withoutOutsideLinks(url, text, pages, options))
  put('root.html', site.page(INDEX, 'docs/'))
  put('llms.txt', llmsText(pages, options.version))
  const examples = join(docs ?? '', EXAMPLES)
  if (docs !== null && existsSync(examples)) cpSync(examples, join(into, EXAMPLES))
  for (const [url, file] of picturesOf(docs)) cpSync(file, join(into, url.slice(DOCS.length)))
  return site.paths.length
}

/** Links to files outside the site lead to the repository, or become text when its address is not known. */
function withoutOutsideLinks(
  url: string,
  text: string,
  pages: readonly Page[],
  { source }: SiteOptions,
): string {
  return text.replaceAll(
    /(?<!!)\[([^\]]+)\]\(([^)\s]+)\)/g,
    (link, label: string, href: string) => {
      if (/^[a-z]+:|^[#/]/.test(href)) return link
      const target = posix.join(posix.dirname(url), href)
      if (pages.some((page) => page.url === target.split('#', 1)[0])) return link
      return source === undefined ? label : `[${label}](${source.replace(/\/+$/, '')}${target})`
    },
  )
}

/** `operations/README.md` is the first page of its folder. */
function pathOf(markdown: string): string {
  return markdown.replace(/(^|\/)README\.md$/, '$1index.md').replace(/\.md$/, '.html')
}

interface Group {
  readonly title: string
  readonly links: readonly { readonly title: string; readonly path: string }[]
}

/** The headings of the first page, each with the links in the lists below it. */
function groupsOf(tokens: readonly Token[], known: ReadonlyMap<string, Entry>): Group[] {
  const groups: { title: string; links: { title: string; path: string }[] }[] = []
  for (const token of tokens) {
    if (token.type === 'heading' && token.depth === 2) groups.push({ title: token.text, links: [] })
    if (token.type !== 'list') continue
    for (const item of (token as Tokens.List).items) {
      const link = firstLink(item.tokens)
      const path = pathOf(posix.normalize(link?.href.split('#', 1)[0] ?? ''))
      if (link !== null && known.has(path)) groups.at(-1)?.links.push({ title: link.text, path })
    }
  }
  return groups.filter(({ links }) => links.length > 0)
}

function firstLink(tokens: readonly Token[]): Tokens.Link | null {
  for (const token of tokens) {
    if (token.type === 'link') return token as Tokens.Link
    const inner = 'tokens' in token && token.tokens ? firstLink(token.tokens) : null
    if (inner !== null) return inner
  }
  return null
}

function navOf(groups: readonly Group[], here: string, root: string): string {
  const item = ({ title, path }: Group['links'][number]) =>
    `<li><a href="${root}${path}"${path === here ? ' aria-current="page"' : ''}>${htmlText(title)}</a></li>`
  return groups
    .map(
      ({ title, links }) =>
        `<h2>${htmlText(title)}</h2><ul>${links.map((link) => item(link)).join('')}</ul>`,
    )
    .join('\n')
}

interface Place extends SiteOptions {
  readonly known: ReadonlyMap<string, Entry>
  readonly root: string
}

function bodyOf(entry: Entry, place: Place): string {
  const used = new Map<string, number>()
  const heads: { depth: number; id: string; html: string }[] = []
  const marked = new Marked({
    gfm: true,
    renderer: {
      // Nothing of ours needs it.
      html: ({ text }) => htmlText(text),
      heading({ depth, text, tokens }) {
        const id = slugOf(text, used)
        const html = this.parser.parseInline(tokens)
        if (depth > 1) heads.push({ depth, id, html: html.replaceAll(/<\/?a\b[^>]*>/g, '') })
        return `<h${depth} id="${id}">${html}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens)
        const to = linkTo(href, entry.path, place)
        return to === null ? inner : `<a href="${htmlText(to)}">${inner}</a>`
      },
      image: ({ href, text }) =>
        `<img src="${htmlText(place.root + posix.join(posix.dirname(entry.path), href))}" alt="${htmlText(text)}">`,
      table({ header, rows }) {
        const inner = ({ tokens }: Tokens.TableCell) => this.parser.parseInline(tokens)
        const heads = header.map((cell) => `<th scope="col">${inner(cell)}</th>`)
        // Each cell tells its column, for screens that are too narrow for columns.
        const cells = rows.map((row) =>
          row.map((cell, at) => {
            const html = inner(cell)
            return `<td data-column="${htmlText(header[at]?.text ?? '')}"${html === '' ? ' class="none"' : ''}>${html}</td>`
          }),
        )
        const body = cells.map((row) => `<tr>${row.join('')}</tr>`).join('\n')
        return `<div class="wide" tabindex="0"><table><thead><tr>${heads.join('')}</tr></thead><tbody>${body}</tbody></table></div>\n`
      },
      code: ({ text, lang }) =>
        `<pre tabindex="0"${lang ? ` data-lang="${htmlText(lang.split(' ', 1)[0] ?? '')}"` : ''}><code>${htmlText(text)}</code></pre>\n`,
    },
  })
  const html = marked.parser([...entry.tokens])
  return heads.length < CONTENTS_MIN ? html : html.replace('</h1>\n', `</h1>\n${contents(heads)}`)
}

function contents(heads: readonly { depth: number; id: string; html: string }[]): string {
  const items = heads
    .filter(({ depth }) => depth < 4)
    .map(({ depth, id, html }) => `<li class="d${depth}"><a href="#${id}">${html}</a></li>`)
  return `<details class="contents"><summary>On this page</summary><ul>${items.join('')}</ul></details>\n`
}

/** As GitHub names headings, so that links work in both places. */
function slugOf(text: string, used: Map<string, number>): string {
  const plain = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
  const times = used.get(plain) ?? 0
  used.set(plain, times + 1)
  return times === 0 ? plain : `${plain}-${times}`
}

/** Null: it leads out of the site, and nobody said where to. */
function linkTo(href: string, from: string, { known, root, source }: Place): string | null {
  if (/^[a-z]+:|^#/.test(href)) return href
  const [target = '', fragment] = href.split('#', 2)
  const behind = fragment === undefined ? '' : `#${fragment}`
  // Of the server itself: the console, OpenAPI.
  if (target.startsWith('/')) return `${root}..${target}${behind}`
  const path = posix.join(posix.dirname(from), target)
  if (known.has(pathOf(path))) return `${root}${pathOf(path)}${behind}`
  if (source === undefined) return null
  return new URL(posix.join('docs', path), `${source.replace(/\/+$/, '')}/`).href + behind
}

function errorsSection(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, title }]) =>
      `<tr id="error-${code}"><td><code>${code}</code></td><td>${status}</td><td>${htmlText(title)}</td></tr>`,
  )
  return `<h2 id="errors">Errors</h2>
<p>Every error of the HTTP API is <code>application/problem+json</code>. Its <code>type</code> points into this table, its <code>errors</code> list all reasons.</p>
<div class="wide" tabindex="0"><table><thead><tr><th scope="col">Class</th><th scope="col">Status</th><th scope="col">Title</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`
}

function shell(title: string, version: string, nav: string, body: string, root: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${htmlText(title)} · Wakeful</title>
<style>${STYLE}</style>
</head>
<body>
<header><a class="name" href="${root}${INDEX}">Wakeful <small>${htmlText(version)}</small></a><a class="skip" href="#pages">All pages</a></header>
<nav id="pages" aria-label="Pages">${nav}</nav>
<main>
${body}
</main>
</body>
</html>
`
}

const htmlText = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')

const STYLE = `
:root{color-scheme:light dark;--page:light-dark(#f5f4f0,#121319);--sunk:light-dark(#efede7,#242732);--ink:light-dark(#1d1c1a,#eceae5);--soft:light-dark(#5c5850,#a8aab6);--line:light-dark(#dedad1,#2f323e);--accent:light-dark(#3942b0,#aab2ff)}
*{box-sizing:border-box}
body{background:var(--page);color:var(--ink);font:16px/1.6 ui-sans-serif,system-ui,"Segoe UI",sans-serif;margin:0 auto;max-width:76rem;display:grid;grid-template:auto 1fr/15rem minmax(0,1fr);column-gap:3rem;padding:0 1.5rem 4rem}
header{grid-column:1/-1;padding:1.1rem 0;border-bottom:1px solid var(--line)}
.name{font-weight:700;font-size:1.1rem;text-decoration:none;color:inherit}small{color:var(--soft);font-weight:400}
nav{padding:1rem 0 1rem .5rem;margin-left:-.5rem;font-size:.94rem;position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto}
nav h2{font-size:.8rem;color:var(--soft);margin:1.2rem 0 .3rem;font-weight:600}
nav ul{list-style:none;margin:0;padding:0}
nav a{display:block;padding:.16rem .5rem;margin-left:-.5rem;border-radius:.4rem;text-decoration:none;color:inherit}
nav a:hover,nav a[aria-current]{background:var(--sunk)}nav a[aria-current]{font-weight:600}
main{padding:.6rem 0;max-width:50rem;min-width:0;overflow-wrap:break-word}
h1{font-size:1.9rem;line-height:1.2;letter-spacing:-.02em;margin:1rem 0}
main h2,h3{scroll-margin-top:1rem}
main h2{margin:2.2rem 0 .6rem;font-size:1.35rem}h3{margin:1.7rem 0 .4rem;font-size:1.08rem}
a{color:var(--accent)}
code{font:.9em ui-monospace,"SF Mono",Menlo,"DejaVu Sans Mono",monospace;background:var(--sunk);border-radius:.3em;padding:.08em .3em;overflow-wrap:anywhere}
pre{background:var(--sunk);border-radius:.6rem;padding:.9rem 1rem;overflow-x:auto;line-height:1.5}
pre code{background:none;padding:0;font-size:.85rem;overflow-wrap:normal}
.wide{overflow-x:auto}
td code{overflow-wrap:normal}td:first-child code{white-space:nowrap}
table{border-collapse:collapse;width:100%;margin:.75rem 0;font-size:.95rem}
th,td{border-bottom:1px solid var(--line);padding:.4rem .9rem .4rem 0;text-align:left;vertical-align:top;min-width:5rem}
img{max-width:100%;height:auto;border-radius:.5rem;border:1px solid var(--line)}
.contents{border:1px solid var(--line);border-radius:.6rem;padding:.5rem 1rem;font-size:.94rem}
.contents ul{list-style:none;padding:0;margin:.4rem 0}.contents .d3{padding-left:1.2rem}
summary{cursor:pointer}
:target{outline:2px solid var(--accent);outline-offset:4px}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media (max-width:52rem){body{display:flex;flex-direction:column;padding:0 1rem 3rem}header{display:flex;justify-content:space-between}nav{order:3;border-top:1px solid var(--line);margin-top:2rem;position:static;align-self:auto;max-height:none}}
@media (max-width:52rem){thead,.none{display:none}table,tbody,tr,td{display:block;border:0;padding:0}tr{border-bottom:1px solid var(--line);padding:.5rem 0}td code{overflow-wrap:anywhere}td:first-child code{white-space:normal}td[data-column]:not([data-column=""],:first-child,:last-child)::before{content:attr(data-column) ": ";color:var(--soft)}}
@media (min-width:52.01rem){.skip{display:none}}
`
