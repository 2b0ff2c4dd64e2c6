/** Tickets: a browser cannot send a header with its socket, so it asks for something it may write into the address. */
import { z } from 'zod'
import { operation } from '../../api/contract.ts'
import { isUuid } from '../../core/ids.ts'
import { randomToken } from './key.ts'
import { keepTicket } from './once-rows.ts'

const TICKET_SECONDS = 30

export const tickets = [
  operation({
    name: 'create_ticket',
    method: 'POST',
    path: '/v1/tickets',
    tag: 'Keys',
    summary: 'Get a ticket that opens one socket, as you, within 30 seconds',
    description: 'Use it as `?ticket=…` in the address of a session’s socket. It works once.',
    status: 201,
    owner: 'nobody',
    roles: ['admin', 'service', 'agent', 'user'],
    output: z.object({ ticket: z.string(), expires_in: z.int() }),
    async run(ctx) {
      const { key: ticket, hash } = randomToken()
      const { keyId } = ctx.actor
      await keepTicket(ctx.db, {
        hash,
        keyId: keyId !== null && isUuid(keyId) ? keyId : null,
        actor: JSON.stringify(ctx.actor),
        seconds: TICKET_SECONDS,
      })
      return { body: { ticket, expires_in: TICKET_SECONDS } }
    },
  }),
]
