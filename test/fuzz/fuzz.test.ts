/** The short version of `npm run fuzz`. What it finds replays with the same seed. */
import { expect, it } from 'vitest'
import { folder } from '../process/server.ts'
import { siege } from './siege.ts'

it('invariants 12 and 13: hostile requests, frames, tool calls, chats and documents break nothing and reach nobody else’s', {
  timeout: 240_000,
}, async () => {
  const { found, documents } = await siege({
    requests: 1200,
    seed: 20260101,
    database: 'memory:',
    folder: folder(),
  })
  expect(found).toEqual([])
  expect(documents.thrown).toEqual([])
})
