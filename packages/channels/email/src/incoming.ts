/**
 * Incoming mail. Its From is trusted only if the mail went to the reply address that only this person was given, or
 * carries a link code. Automatic mail is ignored, so that two programs never write to each other.
 */
import PostalMime, { type Email } from 'postal-mime'
import { errorText } from '../../../../src/core/errors.ts'
import type { ChannelAnswer, Inbox } from '../../../../src/kernel/channel.ts'
import { readChat } from '../../hub/src/text.ts'
import { addressIn, bounceOf, isAnswer, newText } from './mail.ts'

const CHANNEL = 'email'
const TAKEN: ChannelAnswer = { status: 200 }

/** Answers 200 also to mail that is ignored, so that it is not posted again. */
export async function takeMail(raw: Buffer, secret: string, inbox: Inbox): Promise<ChannelAnswer> {
  let mail: Email
  try {
    mail = await PostalMime.parse(raw)
  } catch (error) {
    return { status: 400, body: errorText(error, 200) }
  }
  const bounce = bouncedIn(mail)
  if (bounce !== null) {
    const { recipient: address, messageId: id, gone, words: error } = bounce
    const outcome = gone ? 'gone' : 'failed'
    await inbox.failed({ channel: CHANNEL, address, id, outcome, error })
    return TAKEN
  }
  const from = addressIn(mail.from?.address ?? '')
  const id = mail.messageId?.trim()
  if (from === null || !id)
    return { status: 400, body: 'not a mail: From or Message-ID is missing' }
  if (isAutomatic(mail)) return TAKEN
  const text = newText(mail.text ?? '')
  const proven = isAnswer(recipientsOf(mail), secret, from)
  const input = readChat(text)
  if (!proven && !(input.type === 'start' && input.code !== null)) return TAKEN
  const to = mail.inReplyTo?.trim() || null
  await inbox.heard({ channel: CHANNEL, address: from, id, text: text === '' ? null : text, to })
  return TAKEN
}

function headerOf({ headers }: Email, name: string): string {
  return headers.find(({ key }) => key === name)?.value ?? ''
}

function isAutomatic(mail: Email): boolean {
  const submitted = headerOf(mail, 'auto-submitted').trim().toLowerCase()
  if (submitted !== '' && submitted !== 'no') return true
  return /^(bulk|junk|list|auto_reply)$/i.test(headerOf(mail, 'precedence').trim())
}

function recipientsOf(mail: Email): string[] {
  const named = [...(mail.to ?? []), ...(mail.cc ?? [])].map(({ address }) => address ?? '')
  const taken = ['delivered-to', 'x-original-to', 'envelope-to'].map((name) => headerOf(mail, name))
  return [...named, ...taken].map((each) => each.toLowerCase())
}

function bouncedIn(mail: Email) {
  if (!/multipart\/report/i.test(headerOf(mail, 'content-type'))) return null
  const part = (type: RegExp) => {
    const found = mail.attachments.find(({ mimeType }) => type.test(mimeType))
    return found === undefined ? '' : textOf(found.content)
  }
  return bounceOf(part(/^message\/delivery-status$/), part(/^(message\/rfc822|text\/rfc822)/))
}

function textOf(content: string | ArrayBuffer | Uint8Array): string {
  if (typeof content === 'string') return content
  return Buffer.from(content as Uint8Array).toString('utf8')
}
