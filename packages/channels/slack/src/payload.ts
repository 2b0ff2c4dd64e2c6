/** What Slack says happened, as a message of a person. Pure. */
import { z } from 'zod'
import type { Heard } from '../../../../src/kernel/channel.ts'

/** The name that addresses begin with; an address is the id of a user, `U…`. */
export const CHANNEL = 'slack'

const message = z.object({
  type: z.literal('event_callback'),
  /** The same each time Slack repeats an event. */
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
    // Edits, joins and the like are no messages; a file is one without a text.
    subtype: z.enum(['file_share', 'thread_broadcast']).optional(),
  }),
})

const press = z.object({
  type: z.literal('block_actions'),
  user: z.object({ id: z.string() }),
  container: z.object({ message_ts: z.string() }),
  actions: z.array(z.object({ value: z.string(), action_ts: z.string() })).min(1),
})

/** Null: nothing that a person said to us alone. */
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

/** The thread of a message that somebody wrote, by our id of it. */
export function threadOf(id: string | null): string | undefined {
  return id?.split('/')[1]
}

/** `<https://a.example|a>` and `&amp;` as they were typed. */
function plain(text: string): string {
  return text
    .replaceAll(/<((?:https?|mailto):[^|>]*)(?:\|[^>]*)?>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

/** What would begin a mention or a link is only text. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
