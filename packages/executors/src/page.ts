/**
 * Markdown as a file: as it is, as one HTML page, or as a Word document. On a page raw HTML is shown as text, links lead only to the web
 * or to mail, and pictures become links, so that reading the page makes no requests.
 */
import { Marked } from 'marked'
import { htmlText, pageOf } from './report/document.ts'
import { word } from './word.ts'

/** Where a link may lead. */
export const SAFE = /^(?:https?:\/\/|mailto:)/i

const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => htmlText(text),
    link({ href, tokens }) {
      return linked(href, this.parser.parseInline(tokens))
    },
    image: ({ href, text }) => linked(href, htmlText(text === '' ? href : text)),
  },
})

function linked(href: string, inner: string): string {
  return SAFE.test(href) ? `<a href="${htmlText(href)}" rel="noreferrer">${inner}</a>` : inner
}

export function page(title: string, markdown: string): string {
  return pageOf(title, marked.parse(markdown, { async: false }))
}

const FORMATS = ['md', 'html', 'docx'] as const
export type Format = (typeof FORMATS)[number]

export async function formatted(
  format: Format,
  title: string,
  markdown: string,
): Promise<string | Uint8Array> {
  if (format === 'docx') return word(title, markdown)
  return format === 'html' ? page(title, markdown) : markdown
}

const TAKEN = `"${FORMATS.slice(0, -1).join('", "')}" or "${FORMATS.at(-1)}"`

/** Errors of the requested format; null means no file. */
export function formatErrors(format: unknown): string[] {
  if (format === null || FORMATS.some((each) => each === format)) return []
  return [`parameters.format takes ${TAKEN}, got ${JSON.stringify(format)?.slice(0, 100)}`]
}
