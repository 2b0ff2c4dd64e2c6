/** What is posted to a hook: proved by its signature alone, kept as a signal with its body verbatim. */
import { JsonError, readJson } from '../../../packages/exact-json/src/index.ts'
import type { PackApp } from '../../../src/app/pack.ts'
import { Refusal } from '../../../src/core/errors.ts'
import { eventSignal } from '../../../src/features/intents/signal.ts'
import type { ChannelAnswer, ChannelRequest } from '../../../src/kernel/channel.ts'
import { getHook } from './rows.ts'
import { deliveryId, isFrom } from './signature.ts'

const NOT_SIGNED = 'the signature is missing, wrong, or older than five minutes'

export async function receiveHook(
  app: Pick<PackApp, 'store' | 'takeSignals'>,
  name: string,
  request: ChannelRequest,
): Promise<ChannelAnswer> {
  const hook = await getHook(app.store.engine, name)
  if (hook === null) throw new Refusal('not_found', `there is no hook ${name}`)
  const { scheme, secret, old_secret: old, old_secret_until: until, now } = hook
  const secrets = old !== null && until !== null && until > now ? [secret, old] : [secret]
  const headers = Object.fromEntries(
    Object.entries(request.headers).flatMap(([key, value]) =>
      typeof value === 'string' ? [[key, value]] : [],
    ),
  )
  const call = { headers, body: request.body, now: request.now }
  if (!isFrom(scheme, secrets, call)) throw new Refusal('unauthenticated', NOT_SIGNED)
  const data = request.body.toString('utf8')
  const id = deliveryId(scheme, call, readData(data))
  const signal = eventSignal({ name }, now, hook.user_id, { data, id })
  const [taken] = await app.takeSignals([signal])
  if (taken === undefined) throw new Error(`what was posted to the hook ${name} was not taken`)
  const { stored, promoted } = taken
  return { status: stored ? 202 : 200, body: { id: taken.id, known: !stored, promoted } }
}

/** Text that cannot be kept without change is refused: duplicate keys, deep nesting, U+0000, half of a surrogate pair. */
function readData(text: string): unknown {
  try {
    return readJson(text)
  } catch (error) {
    if (error instanceof JsonError) throw new Refusal('malformed', `body: ${error.message}`)
    throw error
  }
}
