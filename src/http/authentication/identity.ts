/** Authentication, built from the settings: keys, tokens, rate limits, and what browser pages may do. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Actor } from '../../api/contract.ts'
import { wallClock } from '../../clock.ts'
import { type Config, ConfigError } from '../../config.ts'
import { callerAddress, trustsOf } from '../../core/calls/address.ts'
import { hasAdminKey } from '../../features/identity/key-rows.ts'
import type { Db } from '../../store/db.ts'
import { checkLocal, checkOrigin } from '../guard.ts'
import { guessBrake, keyLimits, strangerLimits } from '../limits.ts'
import { Authenticator, TRUST_MS } from './authenticator.ts'
import { tokenVerifier } from './jwt.ts'

export interface IdentityOptions {
  readonly config: Config
  readonly db: Db
  readonly ready: () => boolean
  /** How long a key is believed without asking again, unless word of its revoke comes. */
  readonly trustMs: number | undefined
  /** A test clock's instant. */
  readonly now: (() => Date) | undefined
  readonly onError: (error: unknown) => void
}

export function openIdentity(options: IdentityOptions) {
  const { config, now } = options
  const elapsedMs = () => now?.().getTime() ?? performance.now()
  const tokens =
    config.oauth === null
      ? null
      : tokenVerifier({
          ...config.oauth,
          allowPrivate: config.allowPrivateWebhooks,
          now: () => now?.().getTime() ?? wallClock(),
        })
  const keeper = new Authenticator({
    ...options,
    auth: config.auth,
    adminKey: config.adminKey,
    verifyToken: tokens?.verify ?? null,
    ...(config.auth === 'keys' && { brake: guessBrake(elapsedMs) }),
  })
  const limit = keyLimits(config.ratePerSecond, elapsedMs)
  const trusts = trustsOf(config.trustProxy)
  return {
    limit,
    /** On loopback with open access every stranger is an admin. */
    limitStrangers: config.auth === 'keys' ? strangerLimits(elapsedMs) : () => null,
    /** Whose word about where a request came from is believed. */
    trusts,
    authenticate: (headers: IncomingHttpHeaders, _query: unknown, address?: string) =>
      keeper.authenticate(headers, address),
    /** Word of a revoke: null, of who knows which key. */
    forget: (keyIds: readonly string[] | null) => keeper.forget(keyIds),
    /** What the door of sockets asks. */
    sockets: {
      authenticate: ({ headers, socket }: IncomingMessage, query: URLSearchParams) =>
        keeper.authenticateSocket(
          headers,
          query.get('ticket'),
          callerAddress(socket.remoteAddress ?? '', headers['x-forwarded-for'], trusts),
        ),
      check: ({ headers, socket }: IncomingMessage, local: boolean) =>
        local ? checkLocal(headers, socket.remoteAddress) : checkOrigin(headers, config.origins),
      visitors: {
        standing: (keyIds: readonly string[]) => keeper.standing(keyIds),
        recheckMs: options.trustMs ?? TRUST_MS,
        elapsedMs,
      },
      limit(actor: Actor) {
        const refusal = limit(actor)?.refusal
        if (refusal) throw refusal
      },
    },
    /** Without an admin key nobody could sign in or create a key. */
    async requireAdmin(): Promise<void> {
      if (config.auth === 'open' || config.adminKey !== null) return
      if (await hasAdminKey(options.db)) return
      throw new ConfigError(
        'WAKEFUL_ADMIN_KEY: got nothing, takes at least 32 characters: with WAKEFUL_AUTH=keys and no admin key nobody could sign in; or create one in the database with "wakeful keys create --role admin"',
      )
    },
    async close(): Promise<void> {
      await keeper.close().catch(options.onError)
      await tokens?.close()
    },
  }
}
