/** Decodes an answer by its byte order mark, its HTTP charset, or its XML declaration. */
import { SourceError } from '../../../src/features/intents/source.ts'

const MARKS: readonly (readonly [string, readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16be', [0xfe, 0xff]],
  ['utf-16le', [0xff, 0xfe]],
]
/** An XML declaration is searched in this many bytes. */
const DECLARATION_MAX = 200

/** Bytes that do not fit the charset become �: one invalid character does not fail the whole answer. */
export function textOf(body: Buffer, contentType: string): string {
  const label = markOf(body) ?? charsetOf(contentType) ?? declared(body) ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(body)
  } catch {
    throw new SourceError(
      `the answer is written in ${JSON.stringify(label.slice(0, 40))}, which is not known`,
    )
  }
}

function markOf(body: Buffer): string | undefined {
  return MARKS.find(([, mark]) => mark.every((byte, index) => body[index] === byte))?.[0]
}

function charsetOf(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1]
}

function declared(body: Buffer): string | undefined {
  const beginning = body.subarray(0, DECLARATION_MAX).toString('latin1')
  return /^\s*<\?xml[^>]*?\bencoding\s*=\s*["']([\w.:-]+)["']/.exec(beginning)?.[1]
}
