/**
 * Who is at the door. `open` is for loopback, where every caller is admin; `keys` wants a bearer key of ours, the admin key
 * of the environment, or a token of the identity provider. The owner comes from the credentials and from nothing else.
 */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Actor } from './api/contract.ts'
import { parseDid } from './core/did.ts'
import { Refusal } from './core/errors.ts'
import { keyIdOf, sameHash, sha256 } from './core/key.ts'
import { KEY_PART, ownerDidOf } from './core/session.ts'
import type { Verified } from './jwt.ts'
import type { Db } from './store/db.ts'
import { type LiveKey, liveKey, noteUse } from './store/keys.ts'
import { takeTicket } from './store/once.ts'

/** How long a verified key is believed without looking again: a revoke bites after this at the latest. */
export const TRUST_MS = 2_000
/** The use of a key is noted no more often than this. */
const NOTED_MS = 60_000
const NOTE_WAIT_MS = 1_000
const KNOWN_MAX = 10_000
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

/** Slows down whoever sends what is not valid; absent in `open`. */
export interface Brake {
  /** Throws while this address has failed too often. */
  check(address: string): void
  failed(address: string): void
}

export interface DoorOptions {
  readonly auth: 'open' | 'keys'
  readonly adminKey: string | null
  readonly db: Db
  /** Before the database is there nobody can be known. */
  readonly ready: () => boolean
  readonly brake?: Brake
  /** The identity provider's tokens; null where none is configured. */
  readonly verifyToken?: ((token: string) => Promise<Verified>) | null
  /** A test clock's instant. */
  readonly now?: (() => Date) | undefined
  readonly onError: (error: unknown) => void
}

interface Known extends Verified {
  readonly untilMs: number
}

export class Doorkeeper {
  readonly #options: DoorOptions
  readonly #adminHash: Buffer | null
  /** By the hash of what was shown. Those whose time is over stay, as known faces, until others need the room. */
  readonly #known = new Map<string, Known>()
  readonly #asking = new Map<string, Promise<Known | null>>()
  readonly #used = new Set<string>()
  #noting: NodeJS.Timeout | null = null

  constructor(options: DoorOptions) {
    this.#options = options
    this.#adminHash = options.adminKey === null ? null : sha256(options.adminKey)
  }

  /** The actor of a request, or a refusal. `address` is where it came from. */
  async authenticate(headers: IncomingHttpHeaders, address = ''): Promise<Actor> {
    const actor = this.#options.auth === 'open' ? ADMIN : await this.#bearer(headers, address)
    return actingAs(actor, headers['wakeful-act-as'])
  }

  /** The actor of a socket: by its ticket where it has one. */
  async authenticateSocket(
    headers: IncomingHttpHeaders,
    ticket: string | null,
    address = '',
  ): Promise<Actor> {
    if (ticket === null) return this.authenticate(headers, address)
    this.#requireReady()
    this.#options.brake?.check(address)
    const { db } = this.#options
    const taken = await takeTicket(db, sha256(ticket))
    const valid =
      taken !== null &&
      (taken.key_id === null || (await liveKey(db, taken.key_id, NOTED_MS)) !== null)
    if (!valid) {
      this.#options.brake?.failed(address)
      throw new Refusal(
        'unauthenticated',
        'ticket: is not valid; a ticket works once, for 30 seconds',
      )
    }
    return JSON.parse(taken.actor) as Actor
  }

  /** Whether the credentials behind this actor still stand; for sockets that stay open. */
  async isValid(actor: Actor): Promise<boolean> {
    const id = actor.keyId
    if (id === null || !/^[0-9a-f-]{36}$/.test(id)) return true
    return (await liveKey(this.#options.db, id, NOTED_MS)) !== null
  }

  /** Writes down what was used and not noted yet. */
  async close(): Promise<void> {
    if (this.#noting !== null) clearTimeout(this.#noting)
    await this.#note()
  }

  async #bearer(headers: IncomingHttpHeaders, address: string): Promise<Actor> {
    const shown = /^Bearer ([\x21-\x7e]{1,8192})$/i.exec(headers.authorization ?? '')?.[1]
    if (shown === undefined) throw noKey()
    const digest = hash('sha256', shown, 'base64url')
    const known = this.#known.get(digest)
    if (known !== undefined && this.#elapsedMs() < known.untilMs) return known.actor
    // A face seen before is looked at again also while strangers from its address are kept waiting.
    if (known === undefined) this.#options.brake?.check(address)
    const found = await this.#ask(digest, shown)
    if (found !== null) return found.actor
    this.#known.delete(digest)
    this.#options.brake?.failed(address)
    throw noKey()
  }

  /** Many requests with one key that arrive together ask once. */
  #ask(digest: string, shown: string): Promise<Known | null> {
    const asking = this.#asking.get(digest)
    if (asking !== undefined) return asking
    const answer = this.#lookUp(shown)
      .then((found) => {
        if (found === null) return null
        const trustMs = Math.min(TRUST_MS, found.leftMs ?? TRUST_MS)
        const known = { ...found, untilMs: this.#elapsedMs() + trustMs }
        this.#remember(digest, known)
        return known
      })
      .finally(() => this.#asking.delete(digest))
    this.#asking.set(digest, answer)
    return answer
  }

  async #lookUp(shown: string): Promise<Verified | null> {
    const admin = this.#adminHash
    if (admin !== null && sameHash(sha256(shown), admin))
      return { actor: { ...ADMIN, keyId: ENVIRONMENT_KEY }, leftMs: null }
    const id = keyIdOf(shown)
    if (id !== null) return this.#lookUpKey(id, shown)
    const { verifyToken } = this.#options
    return verifyToken ? verifyToken(shown).catch(onlyRefusals) : null
  }

  async #lookUpKey(id: string, shown: string): Promise<Verified | null> {
    this.#requireReady()
    const row = await liveKey(this.#options.db, id, NOTED_MS)
    if (row === null || !sameHash(sha256(shown), row.hash)) return null
    if (row.use_unnoted) this.#use(id)
    return { actor: actorOf(row), leftMs: row.left_ms }
  }

  #requireReady(): void {
    if (!this.#options.ready())
      throw new Refusal('unavailable', 'the database is not there yet; try again soon')
  }

  #remember(digest: string, known: Known): void {
    this.#known.delete(digest)
    this.#known.set(digest, known)
    if (this.#known.size <= KNOWN_MAX) return
    const oldest = this.#known.keys().next().value
    if (oldest !== undefined) this.#known.delete(oldest)
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

/** One answer for what is missing, malformed, unknown, revoked or expired: which it is helps only those who guess. */
function noKey(): Refusal {
  return new Refusal('unauthenticated', 'send a valid key as "Authorization: Bearer <key>"')
}

/** Admin and service may act for one owner, named by DID or by a bare user id. */
function actingAs(actor: Actor, header: string | string[] | undefined): Actor {
  if (header === undefined) return actor
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
  return { ...actor, userId, ownerDid, actAs: true }
}
