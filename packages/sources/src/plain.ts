/** Converts outside text to one line of plain text that the store accepts. */

/** Entities that feeds use; XML defines only five. */
export const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', shy: '' },
  ...{ ndash: '–', mdash: '—', hellip: '…', middot: '·', bull: '•', laquo: '«', raquo: '»' },
  ...{ lsquo: '‘', rsquo: '’', sbquo: '‚', ldquo: '“', rdquo: '”', bdquo: '„', trade: '™' },
  ...{ copy: '©', reg: '®', deg: '°', euro: '€', pound: '£', yen: '¥', cent: '¢', sect: '§' },
  ...{ auml: 'ä', ouml: 'ö', uuml: 'ü', Auml: 'Ä', Ouml: 'Ö', Uuml: 'Ü', szlig: 'ß' },
  ...{ eacute: 'é', egrave: 'è', ecirc: 'ê', agrave: 'à', aacute: 'á', acirc: 'â', ccedil: 'ç' },
  ...{
    iacute: 'í',
    oacute: 'ó',
    ocirc: 'ô',
    uacute: 'ú',
    ntilde: 'ñ',
    aring: 'å',
    aelig: 'æ',
    oslash: 'ø',
  },
}

const LINE = /[\s\p{Cc}]+/gu

/** One line, without control characters, at most `max` characters. */
export function plain(text: string, max: number): string {
  const line = text
    .replaceAll(/\p{Surrogate}/gu, '\ufffd')
    .replaceAll(LINE, ' ')
    .trim()
  if (line.length <= max) return line
  // Never half of a surrogate pair.
  return `${line.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** Longer text is cut first: a headline is far shorter. */
const HTML_MAX = 256 * 1024

/** The visible text of HTML. An unclosed tag hides the rest. */
export function plainHtml(html: string, max: number): string {
  const bare = withoutTags(html.slice(0, HTML_MAX))
  return plain(bare.replaceAll(/&(#x[\da-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, entity), max)
}

/** One pass: regular expressions would backtrack on hostile text. */
function withoutTags(html: string): string {
  let text = ''
  let from = 0
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', from)) {
    text += html.slice(from, at)
    const end = endOfTag(html, at)
    if (end === null) return text
    // A bare "<" is text.
    text += end === at ? '<' : ' '
    from = end === at ? at + 1 : end
  }
  return text + html.slice(from)
}

/** The end of the tag at `at`; `at` if it is not a tag, null if it is not closed. */
function endOfTag(html: string, at: number): number | null {
  if (html.startsWith('<!--', at)) return after(html, '-->', at + 4)
  const name = /^<\/?([a-z][a-z\d]{0,15})/i.exec(html.slice(at, at + 18))?.[1]?.toLowerCase()
  if (name === undefined) return at
  if ((name !== 'script' && name !== 'style') || html[at + 1] === '/') return after(html, '>', at)
  const close = after(html, `</${name}`, at)
  return close === null ? null : after(html, '>', close)
}

function after(html: string, mark: string, from: number): number | null {
  const at = html.indexOf(mark, from)
  return at < 0 ? null : at + mark.length
}

function entity(all: string, name: string): string {
  if (!name.startsWith('#')) return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? all) : all
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
}
