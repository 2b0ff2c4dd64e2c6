/**
 * Markdown that a model wrote, as one HTML page. Nothing of it becomes HTML of its own: raw HTML is shown as the text it is,
 * links lead only to the web or to mail, and pictures are links, so that reading the page calls nobody.
 */
import { Marked } from 'marked'
import { htmlText, pageOf } from './report/document.ts'

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
