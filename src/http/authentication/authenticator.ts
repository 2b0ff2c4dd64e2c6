/**
 * Who is at the door. `open` is for loopback, where every caller is admin; `keys` wants a bearer key of ours, the admin key
 * of the environment, or a token of the identity provider. The owner comes from the credentials and from nothing else.
 */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Actor } from '../../api/contract.ts'
import { wallClock } from '../../clock.ts'
import { Refusal } from '../../core/errors.ts'
import { keepNewest } from '../../core/newest.ts'
import { KEY_PART, ownerDidOf, parseDid } from '../../core/session.ts'
import { isToken, keyIdOf, sameHash, sha256 } from '../../features/identity/key.ts'
import { type LiveKey, liveKeys, noteUse } from '../../features/identity/key-rows.ts'
import type { Db } from '../../store/db.ts'
import type { Standing } from '../address-limits.ts'
import type { Verified } from './jwt.ts'
import { Lookups } from './lookups.ts'

/** How long a verified key is believed without looking again: a revoke of which no word came bites after this. */
export const TRUST_MS = 2_000
const NOTE_WAIT_MS = 1_000
const KNOWN_MAX = 10_000
/** Keys asked for in one statement. */
const ASKED_MAX = 1_000
/** Of the admin key that the environment gives. */
const ENVIRONMENT_KEY = 'environment'

const ADMIN: Actor = {
  role: 'admin',
  ownerDid: null,
  userId: null,
  agentId: null,
  keyId: null,
  actAs: false,
}

export interface DoorOptions {
  readonly auth: 'open' | 'keys'
  readonly adminKey: string | null
  readonly db: Db
  /** Before the database is there nobody can be known. */
  readonly ready: () => boolean
  /** What an address that showed something wrong is told instead, if anything; absent in `open`. */
  readonly brake?: (address: string) => Refusal | null
  /** The identity provider's tokens; null where none is configured. */
  readonly verifyToken?: ((token: string) => Promise<Verified>) | null
  readonly trustMs?: number | undefined
  /** A test clock's instant. */
  readonly now?: (() => Date) | undefined
  readonly onError: (error: unknown) => void
}

interface Known {
  readonly actor: Actor
  readonly keyIds: readonly string[]
  readonly untilMs: number
  /** When it ends by itself. */
  readonly endsMs: number
}

/**
 * Verifies first and brakes only what failed: a right credential is let in, whatever wrong ones came from its address.
 * What that may cost is bounded by `Lookups`; a signature of the identity provider takes 0.1 ms and no database.
 */
export class Authenticator {
  readonly #options: DoorOptions
  readonly #adminHash: Buffer | null
  readonly #lookups: Lookups
  /** By the hash of what was shown. */
  readonly #known = new Map<string, Known>()
  readonly #asking = new Map<string, Promise<Known | null>>()
  readonly #used = new Set<string>()
  #noting: NodeJS.Timeout | null = null

  constructor(options: DoorOptions) {
    this.#options = options
    this.#adminHash = options.adminKey === null ? null : sha256(options.adminKey)
    this.#lookups = new Lookups(options.db, () => this.#elapsedMs())
  }

  /** The actor of a request, or a refusal. `address` is where it came from. */
  authenticate(headers: IncomingHttpHeaders, address = ''): Actor | Promise<Actor> {
    const known = this.#standing(headers, address)
    return known instanceof Promise ? known.then(({ actor }) => actor) : known.actor
  }

  /** The actor of a socket, by its ticket where it has one, and for how long. */
  async authenticateSocket(
    headers: IncomingHttpHeaders,
    ticket: string | null,
    address = '',
  ): Promise<Standing> {
    if (ticket === null) {
      const { endsMs, ...known } = await this.#standing(headers, address)
      return { ...known, leftMs: endsMs - this.#elapsedMs() }
    }
    this.#requireReady()
    const standing = isToken(ticket) ? await this.#byTicket(ticket) : null
    if (standing !== null) return standing
    throw this.#refusal(address, 'ticket: is not valid; a ticket works once, for 30 seconds')
  }

  /** Which of these keys still stand; for sockets that stay open. */
  async standing(keyIds: readonly string[]): Promise<ReadonlySet<string>> {
    const standing = new Set<string>()
    for (let from = 0; from < keyIds.length; from += ASKED_MAX) {
      const asked = keyIds.slice(from, from + ASKED_MAX)
      for (const { id } of await liveKeys(this.#options.db, asked, 0)) standing.add(id)
    }
    return standing
  }

  /** Word of a revoke, of these keys or of who knows which: what was believed of them is so no more. */
  forget(keyIds: readonly string[] | null): void {
    this.#lookups.revokeHeard()
    for (const [digest, known] of this.#known)
      if (keyIds === null || known.keyIds.some((id) => keyIds.includes(id)))
        this.#known.delete(digest)
  }

  /** Writes down what was used and not noted yet. */
  async close(): Promise<void> {
    if (this.#noting !== null) clearTimeout(this.#noting)
    await this.#note()
  }

  /** At once for a key that was verified a moment ago. */
  #standing(headers: IncomingHttpHeaders, address: string): Known | Promise<Known> {
    const known = this.#options.auth === 'open' ? OPEN : this.#bearer(headers, address)
    const actAs = headers['wakeful-act-as']
    if (known instanceof Promise) return known.then((each) => actingAs(each, actAs))
    return actingAs(known, actAs)
  }

  #bearer(headers: IncomingHttpHeaders, address: string): Known | Promise<Known> {
    const shown = /^Bearer ([\x21-\x7e]{1,8192})$/i.exec(bearerOf(headers))?.[1]
    if (shown === undefined) throw new Refusal('unauthenticated', NO_KEY)
    const digest = hash('sha256', shown, 'base64url')
    const known = this.#known.get(digest)
    if (known !== undefined && this.#elapsedMs() < known.untilMs) return known
    return this.#found(digest, shown, address)
  }

  async #found(digest: string, shown: string, address: string): Promise<Known> {
    const found = this.#lookups.isWrong(digest) ? null : await this.#ask(digest, shown)
    if (found !== null) return found
    this.#known.delete(digest)
    throw this.#refusal(address, NO_KEY)
  }

  #refusal(address: string, why: string): Refusal {
    return this.#options.brake?.(address) ?? new Refusal('unauthenticated', why)
  }

  /** Many requests with one key that arrive together ask once. */
  #ask(digest: string, shown: string): Promise<Known | null> {
    const asking = this.#asking.get(digest)
    if (asking !== undefined) return asking
    const answer = this.#lookUp(digest, shown)
      .then((found) => {
        if (found === null) return null
        const { trustMs = TRUST_MS } = this.#options
        const leftMs = found.leftMs ?? Number.POSITIVE_INFINITY
        const nowMs = this.#elapsedMs()
        const untilMs = nowMs + Math.min(trustMs, leftMs)
        const { actor, keyIds } = found
        const known = { actor, keyIds, untilMs, endsMs: nowMs + leftMs }
        keepNewest(this.#known, digest, known, KNOWN_MAX)
        return known
      })
      .finally(() => this.#asking.delete(digest))
    this.#asking.set(digest, answer)
    return answer
  }

  async #lookUp(digest: string, shown: string): Promise<Standing | null> {
    const admin = this.#adminHash
    if (admin !== null && sameHash(sha256(shown), admin))
      return { actor: { ...ADMIN, keyId: ENVIRONMENT_KEY }, keyIds: [], leftMs: null }
    const id = keyIdOf(shown)
    if (id !== null) return this.#lookUpKey(id, digest, shown)
    const { verifyToken } = this.#options
    const verified = verifyToken ? await verifyToken(shown).catch(onlyRefusals) : null
    return verified && { ...verified, keyIds: [] }
  }

  async #lookUpKey(id: string, digest: string, shown: string): Promise<Standing | null> {
    this.#requireReady()
    const row = await this.#lookups.key(id)
    if (row === null || !sameHash(sha256(shown), row.hash)) {
      this.#lookups.noteWrong(digest)
      return null
    }
    if (row.use_unnoted) this.#use(id)
    return { actor: actorOf(row), keyIds: keyIdsOf(row), leftMs: row.left_ms }
  }

  /** It stands as long as what it was made with. */
  async #byTicket(ticket: string): Promise<Standing | null> {
    const digest = hash('sha256', ticket, 'base64url')
    if (this.#lookups.isWrong(digest)) return null
    const taken = await this.#lookups.ticket(sha256(ticket))
    // Taken now, it is a wrong one from here on.
    this.#lookups.noteWrong(digest)
    if (taken === null) return null
    const actor = JSON.parse(taken.actor) as Actor
    if (taken.key_id !== null) {
      const row = await this.#lookups.key(taken.key_id)
      return row && { actor, keyIds: keyIdsOf(row), leftMs: row.left_ms }
    }
    if (actor.endsAt === undefined) return { actor, keyIds: [], leftMs: null }
    const leftMs = Date.parse(actor.endsAt) - (this.#options.now?.().getTime() ?? wallClock())
    return leftMs > 0 ? { actor, keyIds: [], leftMs } : null
  }

  #requireReady(): void {
    if (!this.#options.ready())
      throw new Refusal('unavailable', 'the database is not ready yet; try again soon')
  }

  #use(id: string): void {
    this.#used.add(id)
    this.#noting ??= setTimeout(() => {
      this.#noting = null
      this.#note().catch(this.#options.onError)
    }, NOTE_WAIT_MS).unref()
  }

  async #note(): Promise<void> {
    const ids = [...this.#used]
    this.#used.clear()
    if (ids.length > 0) await noteUse(this.#options.db, ids)
  }

  /** Time as it passes; a test's own where it drives the clock. */
  #elapsedMs(): number {
    return this.#options.now?.().getTime() ?? performance.now()
  }
}

/** On loopback with open access nothing was shown that could end. */
const OPEN: Known = {
  actor: ADMIN,
  keyIds: [],
  untilMs: Number.POSITIVE_INFINITY,
  endsMs: Number.POSITIVE_INFINITY,
}

/** A token that is not valid is like a key that is not; a provider that cannot be reached is another matter. */
function onlyRefusals(error: unknown): null {
  if (error instanceof Refusal && error.code === 'unauthenticated') return null
  throw error
}

function actorOf(row: LiveKey): Actor {
  return {
    role: row.role,
    userId: row.user_id,
    ownerDid: row.owner_did,
    agentId: row.agent_id,
    keyId: row.id,
    actAs: false,
  }
}

/** A token ends with the key it was made from. */
function keyIdsOf({ id, parent_id }: LiveKey): readonly string[] {
  return parent_id === null ? [id] : [id, parent_id]
}

/** One answer for what is missing, malformed, unknown, revoked or expired: which it is helps only those who guess. */
const NO_KEY = 'send a valid key as "Authorization: Bearer <key>"'

/** Clients of LangGraph's API show their key in a header of its own. */
function bearerOf({ authorization, 'x-api-key': key }: IncomingHttpHeaders): string {
  return authorization ?? (key === undefined ? '' : `Bearer ${key}`)
}

/** Admin and service may act for one owner, named by DID or by a bare user id. */
function actingAs(known: Known, header: string | string[] | undefined): Known {
  if (header === undefined) return known
  const { actor } = known
  if (actor.role !== 'admin' && actor.role !== 'service') {
    throw new Refusal('forbidden', 'Wakeful-Act-As: is for admin and service; leave it out')
  }
  const name = String(header)
  const userId = KEY_PART.test(name) ? name : parseDid(name)?.userId
  if (userId === undefined) {
    throw new Refusal(
      'shape',
      'Wakeful-Act-As: takes a user id or did:matrix:<user>:<16 hex digits>',
    )
  }
  const ownerDid = name === userId ? ownerDidOf(userId) : name
  return { ...known, actor: { ...actor, userId, ownerDid, actAs: true } }
}
