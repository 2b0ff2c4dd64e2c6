/** One line to see whether a link works; what the channel says is kept with it as for any message. */

import { errorText } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { type LinkOutcome, type LinkRow, unlink } from '../features/channels/rows.ts'
import { markLink } from '../features/sessions/push-rows.ts'
import type { Db } from '../store/db.ts'
import type { PushChannel, PushOutcome } from './channel.ts'

const TEST = 'This is a test: what your agents have to say reaches you here.'
const ERROR_MAX = 500

const KEPT = {
  sent: 'sent',
  later: 'later',
  closed: 'closed',
  dropped: 'refused',
  gone: 'gone',
} as const satisfies Record<PushOutcome['type'], LinkOutcome>

export async function tryLink(
  db: Db,
  channel: PushChannel,
  link: LinkRow,
  signal: AbortSignal,
): Promise<{ outcome: LinkOutcome; error: string | null }> {
  const { session_key: sessionKey, address } = link
  const line = { id: newId(), content: TEST, sessionKey, address, reason: 'notice' as const }
  const template = link.closed_at !== null && channel.templated === true
  const told = await channel.send(
    { ...line, partsSent: 0, attempt: 1, template, answers: null, buttons: [] },
    signal,
  )
  const outcome = KEPT[told.type]
  const error = 'error' in told ? errorText(told.error, ERROR_MAX) : null
  if (outcome === 'gone') await unlink(db, link, error ?? '')
  else await markLink(db, link, outcome, error)
  return { outcome, error }
}
