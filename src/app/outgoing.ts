/** Calls that go out: signed, and those that wake agents elsewhere. */
import { type WebhookRequest, Webhooks } from '../calls/webhook.ts'
import type { Config } from '../config.ts'
import { newWebhookSecret } from '../core/calls/signature.ts'
import { alarmWakes } from '../features/alarms/trigger.ts'
import type { Db } from '../store/db.ts'
import { keepSetting } from '../store/settings.ts'

/** Outgoing calls, signed with a secret that is kept in the database unless it was given. */
export function signedCalls({ webhookSecret, allowPrivateWebhooks }: Config) {
  let secret = webhookSecret
  return {
    webhooks: new Webhooks({
      secrets: () => (secret === null ? [] : [secret]),
      allowPrivate: allowPrivateWebhooks,
    }),
    async start(db: Db): Promise<void> {
      secret ??= await keepSetting(db, 'webhook_secret', newWebhookSecret())
    },
  }
}

export function wakesOf({ wakeUrl, wakeToken }: Config, webhooks: Webhooks) {
  if (wakeUrl === null) return null
  return {
    source: alarmWakes({ url: wakeUrl, bearer: wakeToken }),
    call: (request: WebhookRequest, signal: AbortSignal) => webhooks.call(request, signal),
  }
}
