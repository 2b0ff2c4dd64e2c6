/** What a browser needs to subscribe; the subscription itself is the address of a link. */
import { z } from 'zod'
import { operation } from '../../../../src/api/contract.ts'
import { Refusal } from '../../../../src/core/errors.ts'

export const CHANNEL = 'web-push'

/** What this operation asks of the channel. */
export interface Sender {
  readonly publicKey: string
}

export const operations = [
  operation({
    name: 'get_web_push_key',
    method: 'GET',
    path: '/v1/web-push/key',
    tag: 'Links',
    summary: 'The key that a browser subscribes with',
    description:
      'Given as `applicationServerKey` to `pushManager.subscribe`. What comes back, as JSON, is the `address` of `POST /v1/links` with the channel `web-push`.',
    owner: 'nobody',
    roles: ['admin', 'service', 'agent', 'user'],
    // It belongs to no owner, and needs no database.
    refuses: ['conflict'],
    output: z.object({ public_key: z.string() }),
    async run({ kernel }) {
      const sender = kernel.app.packs.own[CHANNEL] as Sender | undefined
      if (sender === undefined)
        throw new Refusal('conflict', 'Web Push is not set up here: set WEB_PUSH_SECRET')
      return { body: { public_key: sender.publicKey } }
    },
  }),
]
