/**
 * Tokens of an identity provider (JWT), verified with the keys at the JWKS address that its metadata names or that was set. Issuer, audience and an end are
 * required, and only algorithms with a public key are taken. Claims of our own names say who it is, so that a `role`
 * meant for somebody else gives nobody rights here.
 */
import { lookup } from 'node:dns'
import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from 'jose'
import { Agent, fetch } from 'undici'
import type { Actor } from '../../api/contract.ts'
import { checkedLookup, readBody } from '../../core/calls/address.ts'
import { Refusal } from '../../core/errors.ts'
import { KEY_PART, ownerDidOf, parseDid } from '../../core/session.ts'
import { ROLES, type Role } from '../../features/identity/key.ts'

const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
const CLOCK_TOLERANCE_SECONDS = 30
const FETCH_TIMEOUT_MS = 5_000
const KEYS_MAX_BYTES = 256 * 1024
const SUBJECT_MAX = 128

export interface Verified {
  readonly actor: Actor
  /** How long the credentials stand by themselves; null: without end. */
  readonly leftMs: number | null
}

export interface JwtOptions {
  /** Null: the one that the issuer's metadata names. */
  readonly jwksUrl: string | null
  readonly issuer: string
  readonly audience: string
  readonly allowPrivate: boolean
  /** The time of day, in milliseconds. */
  readonly now: () => number
}

/** Throws a Refusal `unauthenticated` for a token that is not valid, `unavailable` when the keys cannot be had. */
export function tokenVerifier(options: JwtOptions): {
  verify(token: string): Promise<Verified>
  close(): Promise<void>
} {
  const agent = new Agent({
    connect: { timeout: FETCH_TIMEOUT_MS, lookup: checkedLookup(options.allowPrivate, lookup) },
  })
  const get = async (url: string, init: object = {}) => {
    // No redirects: the address was checked, another one was not.
    const answer = await fetch(url, { ...init, redirect: 'manual', dispatcher: agent })
    return new Response((await readBody(answer.body, KEYS_MAX_BYTES)).toString(), {
      status: answer.status,
    })
  }
  const keySet = (url: string) =>
    createRemoteJWKSet(new URL(url), { timeoutDuration: FETCH_TIMEOUT_MS, [customFetch]: get })
  let known = options.jwksUrl === null ? null : keySet(options.jwksUrl)
  const keysOf = async () => {
    known ??= keySet(await discover(options.issuer, get))
    return known
  }
  return {
    async verify(token) {
      const nowMs = options.now()
      try {
        const { payload } = await jwtVerify(token, await keysOf(), {
          issuer: options.issuer,
          audience: options.audience,
          algorithms: ALGORITHMS,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
          requiredClaims: ['exp', 'sub'],
          currentDate: new Date(nowMs),
        })
        const endMs = ((payload.exp ?? 0) + CLOCK_TOLERANCE_SECONDS) * 1000
        const endsAt = new Date(endMs).toISOString()
        return { actor: { ...actorOfClaims(payload), endsAt }, leftMs: endMs - nowMs }
      } catch (error) {
        throw refusalOf(error)
      }
    },
    close: () => agent.destroy(),
  }
}

/** RFC 8414 puts its path before the issuer's, OpenID Connect after it. */
export function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname === '/' ? '' : pathname.replace(/\/$/, '')
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]
}

const isHttps = (url: string) => URL.parse(url)?.protocol === 'https:'

/** The address of the issuer's keys. Metadata that names another issuer proves nothing. */
async function discover(
  issuer: string,
  get: (url: string, init: object) => Promise<Response>,
): Promise<string> {
  for (const url of metadataUrls(issuer)) {
    const answer = await get(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) })
    if (!answer.ok) continue
    const { issuer: named, jwks_uri: keys } = (await answer.json()) as Record<string, unknown>
    // Keys fetched without TLS could be anybody's.
    const isSafe = typeof keys === 'string' && !(isHttps(issuer) && !isHttps(keys))
    if (named === issuer && isSafe) return keys
  }
  throw new Error(`${issuer} has no metadata that names it and its keys`)
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  const ours =
    error instanceof errors.JWTClaimValidationFailed ||
    error instanceof errors.JWTExpired ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JOSENotSupported
  if (ours) return new Refusal('unauthenticated', 'the token is not valid')
  return new Refusal(
    'unavailable',
    'the keys of the identity provider could not be fetched; try again soon',
    {
      cause: error,
    },
  )
}

/** A client that asks for this scope and is granted it may set things for its user. Higher roles take a claim of our own. */
export const AGENT_SCOPE = 'wakeful:agent'

/**
 * `sub` is the user, unless `wakeful_user` says it; `wakeful_role` is `user` by default, `agent` with the scope; `wakeful_agent` and `wakeful_did`
 * are for agents. A worker without `wakeful_user` works for all users.
 */
export function actorOfClaims(claims: JWTPayload): Actor {
  const scopes = typeof claims.scope === 'string' ? claims.scope.split(' ') : []
  const role = claims.wakeful_role ?? (scopes.includes(AGENT_SCOPE) ? 'agent' : 'user')
  if (!isRole(role)) throw wrongClaims('wakeful_role')
  const everybody = role === 'admin' || role === 'service'
  const named = claims.wakeful_user ?? (role === 'worker' ? null : claims.sub)
  const userId = everybody ? null : named
  if (userId !== null && !(typeof userId === 'string' && KEY_PART.test(userId)))
    throw wrongClaims(claims.wakeful_user === undefined ? 'sub' : 'wakeful_user')
  return {
    role,
    userId,
    ownerDid: userId === null ? null : didOf(claims.wakeful_did, userId),
    agentId: agentOf(claims.wakeful_agent, role),
    keyId: `jwt:${String(claims.sub).slice(0, SUBJECT_MAX)}`,
    actAs: false,
  }
}

function isRole(value: unknown): value is Role {
  return ROLES.some((role) => role === value)
}

function didOf(claim: unknown, userId: string): string {
  if (claim === undefined) return ownerDidOf(userId)
  if (typeof claim !== 'string' || parseDid(claim)?.userId !== userId)
    throw wrongClaims('wakeful_did')
  return claim
}

function agentOf(claim: unknown, role: Role): string | null {
  if (claim === undefined) return null
  if (role !== 'agent' || typeof claim !== 'string' || !KEY_PART.test(claim))
    throw wrongClaims('wakeful_agent')
  return claim
}

function wrongClaims(name: string): Refusal {
  return new Refusal('unauthenticated', `the token's claim ${name} is not one we know`)
}
