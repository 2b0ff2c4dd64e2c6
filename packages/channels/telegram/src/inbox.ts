/** The bot: its channel, and the service that reads updates by long polling, in order within each chat. */
import type { OpenPack, PackApp } from '../../../../src/app/pack.ts'
import { Refusal } from '../../../../src/core/errors.ts'
import type { Inbox } from '../../../../src/kernel/channel.ts'
import { isUnavailable } from '../../../../src/store/db.ts'
import { ChannelReader, type Reading } from '../../hub/src/reader.ts'
import {
  CHANNEL,
  retryAfterMs,
  TelegramChannel,
  type TelegramOptions,
  telegramError,
  type Update,
} from './channel.ts'
import type { Bot } from './operations.ts'

const POLL_SECONDS = 25
const POLL_PAUSE_MS = 200

interface BotOptions extends TelegramOptions {
  readonly agentId: string | null
  readonly leaseMs: number
  /** Whether this process polls for updates. */
  readonly reads: boolean
}

export function openBot(options: BotOptions, app: PackApp): OpenPack {
  const channel = new TelegramChannel(options)
  const own: Bot = { agentId: options.agentId }
  const trouble = (error: unknown) => app.meter.trouble('telegram', error)
  const pollSeconds = app.waits ? POLL_SECONDS : 0
  const updates = { channel, inbox: app.inbox, pollSeconds, trouble }
  const reader = new ChannelReader({
    account: { channel: CHANNEL, account: String(channel.botId) },
    db: app.store.commits,
    leaseMs: options.leaseMs,
    read: (reading) => readUpdates(reading, updates),
    trouble,
  })
  const services = options.reads ? [{ service: reader, pollMs: POLL_PAUSE_MS }] : []
  return { own, pushChannels: [channel], services }
}

interface UpdatesOptions {
  readonly channel: TelegramChannel
  readonly inbox: Inbox
  /** How long one poll waits. */
  readonly pollSeconds: number
  readonly trouble: (error: unknown) => void
}

async function readUpdates(
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

/** Chats in parallel, the messages of one chat in order. */
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

/** Private chats only: a group has many people, and a session has one. */
function isOurs({ message, callback_query: pressed }: Update): boolean {
  if (pressed !== undefined) return pressed.message?.chat.type === 'private'
  return message !== undefined && message.chat.type === 'private' && !message.from?.is_bot
}

/** Skips an update that fails, unless the database is unavailable: then it is read again. */
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
