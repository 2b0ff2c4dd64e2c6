/** JSON that stays the text it was written in, and how it is printed among plain values. */

/** A JSON value as the text it was written in. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Leaves a mark for `printVerbatim`; any other printer gets the value, whose long numbers lose digits. */
  toJSON(): unknown {
    if (met === null) return JSON.parse(this.text)
    met.push(this)
    return MARK
  }
}

/** Nothing that is kept holds U+0000; should it stand in something else, it is noticed by counting. */
const MARK = '\u0000raw'
const PRINTED_MARK = JSON.stringify(MARK)
let met: RawJson[] | null = null

/**
 * `JSON.stringify` with each `RawJson` as it stands; undefined where that cannot be done, because there is nothing to print, or
 * the mark was said by somebody else.
 */
export function printVerbatim(value: unknown): string | undefined {
  const outer = met
  const mine: RawJson[] = []
  met = mine
  try {
    const text = JSON.stringify(value) as string | undefined
    return mine.length === 0 ? text : filled(text ?? '', mine)
  } finally {
    met = outer
  }
}

function filled(text: string, raws: readonly RawJson[]): string | undefined {
  const parts = text.split(PRINTED_MARK)
  if (parts.length !== raws.length + 1) return undefined
  let result = parts[0] ?? ''
  for (let at = 0; at < raws.length; at++) result += (raws[at]?.text ?? '') + (parts[at + 1] ?? '')
  return result
}
