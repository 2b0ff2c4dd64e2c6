/** What users, agents and threads may be called: one rule, wherever a name is read. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as console from '../../packages/console/src/session/key.ts'
import { keyPart, sessionKey } from '../../src/core/fields.ts'
import {
  KEY_PART,
  ownerDidOf,
  parseDid,
  parseSessionKey,
  SESSION_KEY,
} from '../../src/core/session.ts'
import { isOwner } from '../../src/core/variables.ts'

const LETTERS = 'abcXYZ0189._@|+=~/-'
const name = fc
  .string({ unit: fc.constantFrom(...LETTERS), minLength: 1, maxLength: 128 })
  .filter((text) => text !== '.' && text !== '..')

describe('names', () => {
  it.each([
    'ann',
    'ann@example.com',
    'ann+news@example.co.uk',
    'auth0|64f0c2',
    'T1/U2',
    '../../etc',
    'a.b',
    '...',
    'dGVzdA==',
    '~ann',
    'x'.repeat(128),
  ])('%s is one', (text) => {
    expect(KEY_PART.test(text)).toBe(true)
  })

  it.each(['', '.', '..', 'a:b', 'a b', 'a\n', 'é', 'a%b', 'a\\b', 'a\0', 'x'.repeat(129)])(
    '%j is none',
    (text) => {
      expect(KEY_PART.test(text)).toBe(false)
      expect(parseSessionKey(`${text}:bot:t`)).toBeNull()
      expect(parseSessionKey(`ann:bot:${text}`)).toBeNull()
      expect(parseDid(`did:matrix:${text}:0123456789abcdef`)).toBeNull()
    },
  )

  it('any three are a key, which gives back its parts, and the owner of each has a DID', () => {
    fc.assert(
      fc.property(name, name, name, (userId, agentId, threadId) => {
        const key = `${userId}:${agentId}:${threadId}`
        expect(parseSessionKey(key)).toMatchObject({ key, userId, agentId, threadId })
        expect(sessionKey.safeParse(key).success).toBe(true)
        expect(keyPart.safeParse(userId).success).toBe(true)
        expect(parseDid(ownerDidOf(userId))?.userId).toBe(userId)
        expect([isOwner(userId), isOwner(ownerDidOf(userId)), isOwner(key)]).toEqual([
          true,
          true,
          false,
        ])
      }),
    )
  })

  it('the console has the same rule, and its addresses lead back to the key', () => {
    expect(console.KEY_PART.source).toBe(KEY_PART.source)
    expect(console.SESSION_KEY.source).toBe(SESSION_KEY.source)
    fc.assert(
      fc.property(name, name, name, (...parts) => {
        const key = parts.join(':')
        const [, place, part = '', ...more] = console.sessionAddress(key).split('/')
        expect([place, more]).toEqual(['sessions', []])
        expect(console.keyIn(part)).toBe(key)
        expect(console.keyIn(decodeURIComponent(part))).toBe(key)
      }),
    )
    expect(console.keyIn('%zz')).toBeNull()
  })
})
