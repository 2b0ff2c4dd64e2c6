/** Text from outside, as one line of plain words that every store can hold. */

/** The names that feeds use; XML knows only five of them. */
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
  // Never half of a pair.
  return `${line.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** What a reader would see of a piece of HTML. Tags that never end swallow no more than the piece. */
export function plainHtml(html: string, max: number): string {
  const bare = html
    .replaceAll(/<(script|style)\b[^>]*>[^<]*(?:<(?!\/\1)[^<]*)*<\/\1\s*>/gi, ' ')
    .replaceAll(/<!--[^-]*(?:-(?!->)[^-]*)*-->/g, ' ')
    .replaceAll(/<\/?[a-z][^<>]*>/gi, ' ')
  return plain(bare.replaceAll(/&(#x[\da-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, entity), max)
}

function entity(all: string, name: string): string {
  if (!name.startsWith('#')) return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? all) : all
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
}
