/** Texts for people: colours, widths, and nothing that could steer a terminal. Pure. */

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

export function isInstant(value: unknown): value is string {
  return typeof value === 'string' && INSTANT.test(value)
}

/**
 * What others wrote must not move the cursor, change colours or turn the direction of the line: an agent's text
 * could otherwise show what is not there.
 */
export function plain(text: string, lines: 'one line' | 'lines' = 'one line'): string {
  const shown = lines === 'lines' ? text.replaceAll('\r\n', '\n') : text.replace(/\s+/g, ' ')
  return shown.replace(UNSAFE, (character) =>
    lines === 'lines' && (character === '\n' || character === '\t') ? character : '\uFFFD',
  )
}
// Controls, and the marks that turn the direction of writing.
const UNSAFE = /[\p{Cc}\u202A-\u202E\u2066-\u2069\u200E\u200F\u061C]/gu

/** How many cells of a terminal it takes. */
export function cells(text: string): number {
  let count = 0
  for (const character of text) count += WIDE.test(character) ? 2 : NONE.test(character) ? 0 : 1
  return count
}
const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]$/u
const NONE = /^[\p{Mn}\p{Me}\p{Cf}]$/u

/** At most so many cells, with a mark where something was left out. */
export function cut(text: string, width: number): string {
  if (cells(text) <= width) return text
  let kept = ''
  let used = 0
  for (const character of text) {
    const size = cells(character)
    if (used + size > width - 1) break
    kept += character
    used += size
  }
  return `${kept}…`
}

export type Colour = 'red' | 'green' | 'yellow' | 'blue' | 'dim' | 'bold'
const CODES: Record<Colour, number> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34 }

export type Paint = (colour: Colour | null, text: string) => string

/** Colours, or the text as it is. */
export function painter(on: boolean): Paint {
  return (colour, text) =>
    on && colour !== null ? `\u001B[${CODES[colour]}m${text}\u001B[0m` : text
}
