/** Slack payloads as messages of people. Pure. */
import { z } from 'zod'
import type { Heard } from '../../../../src/kernel/channel.ts'

/** An address is a user id, `U…`. */
export const CHANNEL = 'slack'

const message = z.object({
  type: z.literal('event_callback'),
  /** Stays the same when Slack redelivers an event. */
  event_id: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .optional()
    .catch(undefined),
  event: z.object({
    type: z.literal('message'),
    channel_type: z.literal('im'),
    user: z.string(),
    ts: z.string(),
    text: z.string().optional(),
    thread_ts: z.string().optional(),
    bot_id: z.undefined().optional(),
    // Other subtypes (edits, joins) are ignored; a shared file is a message without text.
    subtype: z.enum(['file_share', 'thread_broadcast']).optional(),
  }),
})

const press = z.object({
  type: z.literal('block_actions'),
  user: z.object({ id: z.string() }),
  container: z.object({ message_ts: z.string() }),
  actions: z.array(z.object({ value: z.string(), action_ts: z.string() })).min(1),
})

/** Null unless a person wrote to the bot directly. */
export function heardOf(payload: unknown): Heard | null {
  const said = message.safeParse(payload)
  if (said.success) {
    const { user, ts, text, thread_ts: thread } = said.data.event
    const inThread = thread !== undefined && thread !== ts
    const id = said.data.event_id ?? ts
    return {
      ...{ channel: CHANNEL, address: user, text: text ? plain(text) : null },
      id: inThread ? `${id}/${thread}` : id,
      to: inThread ? thread : null,
    }
  }
  const pressed = press.safeParse(payload)
  if (!pressed.success) return null
  const { user, container, actions } = pressed.data
  const [{ value, action_ts: id } = { value: '', action_ts: '' }] = actions
  return { channel: CHANNEL, address: user.id, id, text: value, to: container.message_ts }
}

/** The thread of a message, from its id. */
export function threadOf(id: string | null): string | undefined {
  return id?.split('/')[1]
}

/** Turns `<https://a.example|a>` and `&amp;` back into what was typed. */
function plain(text: string): string {
  return text
    .replaceAll(/<((?:https?|mailto):[^|>]*)(?:\|[^>]*)?>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

/** Prevents mentions and links. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
