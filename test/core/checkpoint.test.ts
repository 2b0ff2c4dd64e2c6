/** The session's part of a checkpoint's metadata, written and read back. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  METADATA_VERSION,
  readSessionMetadata,
  sessionMetadata,
} from '../../src/features/sessions/checkpoint.ts'

it('what is written is read back, whatever else an agent keeps there', () => {
  const lastAt = fc.option(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }))
  fc.assert(
    fc.property(fc.integer({ min: 1 }), fc.nat(), lastAt, (seq, consecutive, at) => {
      const written = sessionMetadata(seq, { consecutive, lastAt: at })
      const kept = JSON.parse(JSON.stringify({ source: 'loop', step: 3, ...written })) as object
      expect(readSessionMetadata(kept)).toEqual(written)
    }),
  )
})

it('one without a version is of the first; one without our part is nobody’s turn', () => {
  const { metadata_version: _, ...old } = sessionMetadata(1, { consecutive: 0, lastAt: null })
  expect(readSessionMetadata(old)).toEqual({ metadata_version: METADATA_VERSION, ...old })
  expect(readSessionMetadata({ source: 'loop', step: 1 })).toBeNull()
})

it.each([
  ['metadata_version', METADATA_VERSION + 1],
  ['event_seq', 0],
  ['consecutive_autonomous_msgs', -1],
  ['last_autonomous_at', 'yesterday'],
])('a wrong %s is refused by its name', (name, value) => {
  const metadata = { ...sessionMetadata(1, { consecutive: 0, lastAt: null }), [name]: value }
  expect(() => readSessionMetadata(metadata)).toThrow(name)
})
