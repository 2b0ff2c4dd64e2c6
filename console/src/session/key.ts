/** The key of a session, and its address in the console. */

export const SESSION_KEY = /^[a-zA-Z0-9_-]{1,64}:[a-zA-Z0-9_-]{1,64}:[a-zA-Z0-9_-]{1,64}$/

/** Keys hold nothing that an address would have to escape. */
export function sessionAddress(key: string): string {
  return `/sessions/${key}`
}

/** Some programs escape colons in links that are handed on. Null: not a key. */
export function keyIn(part: string): string | null {
  const key = part.replaceAll(/%3a/gi, ':')
  return SESSION_KEY.test(key) ? key : null
}
