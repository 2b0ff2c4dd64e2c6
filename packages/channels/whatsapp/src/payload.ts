/** Webhook payloads: messages of people, and delivery failures of ours. Pure. */
import { z } from 'zod'
import type { FailedReceipt, Heard } from '../../../../src/kernel/channel.ts'

export const CHANNEL = 'whatsapp'

const text = z.string().optional().catch(undefined)
const reply = z.object({ id: z.string() })
const message = z.object({
  from: z.string(),
  id: z.string(),
  text: z.object({ body: z.string() }).optional().catch(undefined),
  interactive: z.object({ button_reply: reply }).optional().catch(undefined),
  button: z.object({ payload: z.string() }).optional().catch(undefined),
  context: z.object({ id: text }).optional().catch(undefined),
})
const status = z.object({
  id: z.string(),
  status: z.literal('failed'),
  recipient_id: z.string(),
  errors: z.array(z.object({ code: z.number(), title: text, message: text })).min(1),
})

/** Skips items of unknown shape. */
const each = <T extends z.ZodType>(item: T) =>
  z
    .array(z.unknown())
    .catch([])
    .transform((list) =>
      list.flatMap((one) => {
        const read = item.safeParse(one)
        return read.success ? [read.data] : []
      }),
    )
const value = z.object({ value: z.object({ messages: each(message), statuses: each(status) }) })
const posted = z.object({ entry: each(z.object({ changes: each(value) })) })

export interface Posted {
  readonly heard: readonly Heard[]
  readonly failed: readonly FailedReceipt[]
}

export function postedOf(payload: unknown): Posted | null {
  const read = posted.safeParse(payload)
  if (!read.success) return null
  const values = read.data.entry.flatMap(({ changes }) => changes.map((change) => change.value))
  return {
    heard: values.flatMap(({ messages }) => messages.map(heardOf)),
    failed: values.flatMap(({ statuses }) => statuses.map(failedOf)),
  }
}

function heardOf(said: z.infer<typeof message>): Heard {
  const { from, id, text, interactive, button, context } = said
  const words = interactive?.button_reply.id ?? button?.payload ?? text?.body ?? null
  return { channel: CHANNEL, address: from, id, text: words, to: context?.id ?? null }
}

function failedOf({ id, recipient_id: address, errors }: z.infer<typeof status>): FailedReceipt {
  const [first = { code: 0, title: undefined, message: undefined }] = errors
  const { outcome, error } = failureOf(first.code, first.message ?? first.title)
  const told = outcome === 'closed' || outcome === 'gone' ? outcome : 'failed'
  return { channel: CHANNEL, address, id, outcome: told, error }
}

const CLOSED = new Set([131_047])
/** The number is not on WhatsApp, or has not accepted its terms. */
const GONE = new Set([131_026, 131_030])
/** Rate limits, load, an unpaid account, an expired token: retried. */
const LATER = new Set([
  ...[0, 1, 2, 3, 4, 10, 190, 80_007, 130_429, 131_000, 131_005, 131_016, 131_031],
  ...[131_042, 131_048, 131_056, 131_057, 133_004],
])

export function failureOf(code: number, words: string | undefined) {
  const error = `WhatsApp: ${code}${words === undefined ? '' : ` ${words}`}`
  if (CLOSED.has(code)) return { outcome: 'closed', error } as const
  if (GONE.has(code)) return { outcome: 'gone', error } as const
  return { outcome: LATER.has(code) ? ('later' as const) : ('dropped' as const), error }
}
