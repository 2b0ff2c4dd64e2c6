/** The key of a session, and its address in the console. */

/** As the server has it; a test compares the two. */
const PART = String.raw`(?!\.{1,2}(?::|$))[A-Za-z0-9._@|+=~/-]{1,128}`
export const KEY_PART = new RegExp(`^${PART}$`)
export const SESSION_KEY = new RegExp(`^${PART}:${PART}:${PART}$`)
export const SESSION_KEY_FORM =
  'Three parts, user:agent:thread, each of letters, digits and . _ @ | + = ~ / -'

/** Colons stay, since they are harmless and keep the address readable. */
export function sessionAddress(key: string): string {
  return `/sessions/${encodeURIComponent(key).replaceAll('%3A', ':')}`
}

/** No key holds a percent sign, so it may have been decoded before. Null: not a key. */
export function keyIn(part: string): string | null {
  const key = decoded(part)
  return key !== null && SESSION_KEY.test(key) ? key : null
}

/** One part of a key, such as a user's id, in an address. A malformed one stays as it is: the server says what is wrong with it. */
export function partIn(part: string): string {
  return decoded(part) ?? part
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part)
  } catch {
    return null
  }
}
