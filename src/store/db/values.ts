/**
 * Parameters and columns in PostgreSQL's text format. A group commit sends tens of arrays with hundreds of
 * elements: the driver's own printing and date parsing took a fifth of the process's time there.
 */

const QUOTED = /["\\]/
const ESCAPE = /(["\\])/g

/** Arrays become array literals; all else is left to the driver. */
export function parameter(value: unknown): unknown {
  return Array.isArray(value) ? arrayLiteral(value) : value
}

function arrayLiteral(values: readonly unknown[]): string {
  let text = '{'
  for (let index = 0; index < values.length; index++) {
    if (index > 0) text += ','
    text += element(values[index])
  }
  return `${text}}`
}

function element(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value === 'string')
    return `"${QUOTED.test(value) ? value.replace(ESCAPE, '\\$1') : value}"`
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (value instanceof Date) return `"${value.toISOString()}"`
  if (value instanceof Uint8Array) return `"\\\\x${Buffer.from(value).toString('hex')}"`
  throw new TypeError(`no array of ${typeof value} goes to the database`)
}

/** `2026-11-15 22:23:31.942+00`, as a session in UTC prints it; undefined for any other form. */
export function utcInstant(text: string): Date | undefined {
  if (!text.endsWith('+00') || text.length < 22 || text.length > 29) return undefined
  return new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
}
