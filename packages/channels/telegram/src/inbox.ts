/** What people write to the bot: updates by long polling, each chat's in their order. */

import { Refusal } from '../../../../src/core/errors.ts'
import type { Inbox } from '../../../../src/kernel/channel.ts'
import { isUnavailable } from '../../../../src/store/db.ts'
import type { Reading } from '../../hub/src/reader.ts'
import {
  CHANNEL,
  retryAfterMs,
  type TelegramChannel,
  telegramError,
  type Update,
} from './channel.ts'

export interface UpdatesOptions {
  readonly channel: TelegramChannel
  readonly inbox: Inbox
  /** How long one poll waits for something to happen. */
  readonly pollSeconds: number
  readonly trouble: (error: unknown) => void
}

export async function readUpdates(
  { cursor, signal, advance, pause }: Reading,
  options: UpdatesOptions,
): Promise<number> {
  const { channel, pollSeconds } = options
  const updates = await channel.updates(Number(cursor ?? 0), pollSeconds, signal).catch((error) => {
    const waitMs = retryAfterMs(error)
    if (waitMs !== null) pause(waitMs)
    throw new Error(telegramError(error))
  })
  if (updates.length === 0) return 0
  await takeAll(updates, options)
  await advance(String(Math.max(...updates.map((update) => update.update_id)) + 1))
  return updates.length
}

/** Chats side by side, each one's messages in their order. */
async function takeAll(updates: readonly Update[], options: UpdatesOptions): Promise<void> {
  const chats = new Map<number, Update[]>()
  for (const update of updates.filter(isOurs))
    chats.set(chatOf(update), [...(chats.get(chatOf(update)) ?? []), update])
  await Promise.all(
    [...chats.values()].map(async (list) => {
      for (const update of list) await takeOrSkip(update, options)
    }),
  )
}

const chatOf = ({ message, callback_query: pressed }: Update) =>
  message?.chat.id ?? pressed?.message?.chat.id ?? pressed?.from.id ?? 0

/** A group has many people, and a session has one. */
function isOurs({ message, callback_query: pressed }: Update): boolean {
  if (pressed !== undefined) return pressed.message?.chat.type === 'private'
  return message !== undefined && message.chat.type === 'private' && !message.from?.is_bot
}

/** One that cannot be taken is left behind; a database that is away makes us read it again. */
async function takeOrSkip(update: Update, { channel, inbox, trouble }: UpdatesOptions) {
  const { update_id: id, message, callback_query: pressed } = update
  const to = (pressed?.message ?? message?.reply_to_message)?.message_id
  try {
    await inbox.heard({
      channel: CHANNEL,
      address: String(chatOf(update)),
      id: String(id),
      text: pressed?.data ?? message?.text ?? null,
      to: to === undefined ? null : String(to),
    })
    if (pressed !== undefined) await channel.pressed(pressed.id)
  } catch (error) {
    if (isUnavailable(error) || (error instanceof Refusal && error.code === 'unavailable'))
      throw error
    trouble(error)
  }
}
