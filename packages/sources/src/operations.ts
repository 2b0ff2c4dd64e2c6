/** The state of the sources of facts: whether each could be read, and when it is asked again. */
import { z } from 'zod'
import { operation, page, pageOf } from '../../../src/api/contract.ts'
import { listSources, type SourceState } from './rows.ts'

const SOURCES_MAX = 1000

const view = z.object({
  key: z.string().meta({ description: 'Kind, host and a hash: its URL is not shown.' }),
  kind: z.string(),
  last_ok_at: z.iso.datetime().nullable(),
  last_error: z.string().nullable().meta({
    description: 'Of the last poll; with failures 0 it was read, but not all of it.',
  }),
  failures: z.int().meta({ description: 'In a row.' }),
  next_poll_at: z.iso.datetime(),
})

const viewOf = (state: SourceState) => ({
  key: state.key,
  kind: state.kind,
  last_ok_at: state.last_ok_at?.toISOString() ?? null,
  last_error: state.last_error,
  failures: state.failures,
  next_poll_at: state.next_poll_at.toISOString(),
})

export const sources = [
  operation({
    name: 'list_sources',
    method: 'GET',
    path: '/v1/sources',
    tag: 'Intents',
    summary: 'Where facts are pulled from, and how that goes',
    owner: 'nobody',
    roles: ['admin', 'service'],
    output: pageOf(view),
    async run(ctx) {
      const states = await listSources(ctx.db, SOURCES_MAX)
      return { body: page(states.map(viewOf), null) }
    },
  }),
]
