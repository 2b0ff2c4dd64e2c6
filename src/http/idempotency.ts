/** The `Idempotency-Key` header. */
import { REQUEST_KEY } from '../api/once.ts'
import { Refusal } from '../core/errors.ts'

/** The key of a request, or undefined for none. Node joins repeated headers, so the raw ones count. */
export function readKey(rawHeaders: readonly string[]): string | undefined {
  let found: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== 'idempotency-key') continue
    const key = unquote(rawHeaders[index + 1] ?? '')
    if (found !== undefined && found !== key) {
      throw new Refusal('malformed', 'Idempotency-Key: given twice with different values')
    }
    found = key
  }
  if (found === undefined || found === '') return undefined
  if (!REQUEST_KEY.test(found)) {
    throw new Refusal('malformed', 'Idempotency-Key: takes 2 to 255 visible ASCII characters')
  }
  return found
}

/** RFC 8941 writes strings in quotes; one pair of them is not part of the key. */
function unquote(value: string): string {
  const text = value.trim()
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
}
