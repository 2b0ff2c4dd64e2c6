const LETTERS = '23456789abcdefghjkmnpqrstuvwxyz'

/** Random letters without look-alikes. `crypto.randomUUID` is missing on plain http beyond localhost. */
export function randomId(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length))
  return Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join('')
}
