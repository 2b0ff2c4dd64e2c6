/** Text that PostgreSQL and JSON can both hold, and hand on as it was. */

const LONE_SURROGATE = /\p{Surrogate}/u
/** In JSON text: an escape for NUL or for half of a surrogate pair, not itself escaped. */
const ESCAPED = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i

export function hasUnstorableText(text: string): boolean {
  return text.includes('\0') || LONE_SURROGATE.test(text)
}

/** For what `JSON.stringify` printed: it escapes lone surrogates and prints pairs as they are. */
export function hasUnstorableJson(json: string): boolean {
  return json.includes('\\u') && ESCAPED.test(json)
}

/** Cut, and without what PostgreSQL cannot hold: errors quote whatever a stranger answered. */
export function storableText(text: string, max: number): string {
  const cut = text.length > max ? `${text.slice(0, max - 1)}…` : text
  return cut.replaceAll('\0', '\ufffd').replace(/\p{Surrogate}/gu, '\ufffd')
}
