/** What a model is shown of a long conversation. */

/** About four bytes of JSON are a token, whatever the model. */
const BYTES_PER_TOKEN = 4

/**
 * The newest messages within a budget, from one of the user on: a tool call and its result stand between two messages of the user,
 * so they are kept together or dropped together.
 */
export function newest(messages: readonly unknown[], tokens: number): unknown[] {
  let left = tokens * BYTES_PER_TOKEN
  let from = messages.length
  for (let at = messages.length - 1; at >= 0; at--) {
    left -= Buffer.byteLength(JSON.stringify(messages[at]))
    if (left < 0) break
    if (at === 0 || (messages[at] as { role?: unknown }).role === 'user') from = at
  }
  return messages.slice(from)
}
