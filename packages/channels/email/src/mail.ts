/** Addresses, subjects, bounces, and the new text of a reply. Pure. */
import { hmacHex, isSame } from '../../hub/src/vendor.ts'

const SUBJECT_MAX = 70
const TOKEN_LENGTH = 24

/** The bare address of `Name <a@b.example>` or `a@b.example`, in lower case. */
export function addressIn(text: string): string | null {
  const bare = /<([^<>]+)>\s*$/.exec(text)?.[1] ?? text.trim()
  return /^[^\s@<>"',;]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])$/i.test(bare)
    ? bare.toLowerCase()
    : null
}

/** The reply address of this person; only people who got mail know theirs. */
export function answersTo(own: string, secret: string, person: string): string {
  const [local = '', domain = ''] = own.split('@')
  return `${local}+${tokenOf(secret, 'answer', person)}@${domain}`
}

/** Whether the mail went to the reply address of its sender. */
export function isAnswer(to: readonly string[], secret: string, person: string): boolean {
  const token = tokenOf(secret, 'answer', person)
  return to.some((each) => isSame(/\+([^+@]+)@/.exec(each)?.[1] ?? '', token))
}

export function tokenOf(secret: string, purpose: string, person: string): string {
  return hmacHex(secret, `${purpose}:${person}`).slice(0, TOKEN_LENGTH)
}

export function subjectOf(content: string): string {
  const [line = ''] = content.trim().split('\n')
  const bare = line.replaceAll(/[\p{Cc}\p{Cf}]/gu, '').replaceAll(/[*_#`]+/g, '')
  return bare.length <= SUBJECT_MAX ? bare : `${bare.slice(0, SUBJECT_MAX).trimEnd()}…`
}

/** Lines that begin a quote or a signature. */
const REST = [
  /^-- $/,
  /^On .{5,200} wrote:$/,
  /^Am .{5,200} schrieb .{1,200}:$/,
  /^Le .{5,200} a écrit\s?:$/,
  /^-{2,}\s*Original Message\s*-{2,}$/i,
  /^_{10,}$/,
  /^From: .+$/,
]

/** The new text of a reply, without the quote. */
export function newText(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const end = lines.findIndex((line, at) => {
    // Some programs break the line that introduces a quote.
    const two = `${line} ${lines[at + 1] ?? ''}`
    return REST.some((form) => form.test(line)) || /^On .{5,200} wrote:$/.test(two)
  })
  return lines
    .slice(0, end === -1 ? lines.length : end)
    .filter((line) => !line.startsWith('>'))
    .join('\n')
    .trim()
}

export interface Bounce {
  readonly recipient: string
  readonly messageId: string
  readonly gone: boolean
  readonly words: string
}

/** Parses a delivery failure report (RFC 3464). */
export function bounceOf(status: string, returned: string): Bounce | null {
  const field = (name: string, text = status) =>
    new RegExp(`^${name}:\\s*(.+)$`, 'im').exec(text)?.[1]?.trim()
  const recipient = addressIn(field('Final-Recipient')?.replace(/^rfc822;\s*/i, '') ?? '')
  const messageId = field('Message-ID', returned)
  if (field('Action')?.toLowerCase() !== 'failed' || !recipient || !messageId) return null
  const code = field('Status') ?? ''
  const words = field('Diagnostic-Code')?.replace(/^smtp;\s*/i, '') ?? `status ${code}`
  return { recipient, messageId, gone: /^5\.1\./.test(code), words }
}
