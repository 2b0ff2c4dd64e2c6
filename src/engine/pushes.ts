/**
 * The pushes service: sends what is due to devices that hold no connection, the first message of each session
 * at a time, each under a lease. A chat that is slow or asks for patience delays nobody else's.
 */
import type { PushChannel, PushOutcome } from '../channels/channel.ts'
import { TURN_DEATHS_MAX } from '../core/backoff.ts'
import { errorText } from '../core/errors.ts'
import { newToken } from '../core/ids.ts'
import { parseSessionKey } from '../core/sessions/session.ts'
import type { Db } from '../store/db/db.ts'
import { stopPushing } from '../store/sessions/pushed.ts'
import {
  type ClaimedPush,
  claimPushes,
  extendPushes,
  notePushError,
  type SettledPush,
  settlePushes,
} from '../store/sessions/pushes.ts'
import { deliveryOf } from './delivery.ts'
import { insist, Leased } from './leased.ts'
import type { DeliveryRecord, Meter } from './meter.ts'
import type { Moments } from './moments.ts'
import { IDLE, type Service, type Tick } from './service.ts'

export interface PushesOptions {
  readonly channels: readonly PushChannel[]
  readonly claims: Db
  readonly commits: Db
  readonly leaseMs: number
  readonly meter: Meter
  readonly moments: Moments
}

/** Who carries a message, and to whom. */
interface Address {
  readonly channel: PushChannel
  readonly address: string
}

interface Running {
  readonly push: ClaimedPush
  readonly token: string
  readonly controller: AbortController
}

/** Messages on their way at once, of all channels. */
const CONCURRENCY = 64
const STOP_GRACE_MS = 5_000
const ERROR_MAX = 500

export class PushesService implements Service {
  readonly name = 'pushes'
  /** Called when a message is done: the session's next one may be due. */
  onFree: () => void = () => undefined
  readonly #options: PushesOptions
  readonly #channels: ReadonlyMap<string, PushChannel>
  readonly #running: Leased<Running>

  constructor(options: PushesOptions) {
    this.#options = options
    this.#channels = new Map(options.channels.map((channel) => [channel.name, channel]))
    this.#running = new Leased({
      leaseMs: options.leaseMs,
      keyOf: ({ push }) => keyOf(push),
      extend: (all) => extendPushes(options.claims, all.map(heldOf), options.leaseMs),
      lost: ({ controller }) => controller.abort(),
      meter: options.meter,
    })
  }

  async tick(): Promise<Tick> {
    const limit = CONCURRENCY - this.#running.size
    if (limit <= 0) return IDLE
    const { claims, leaseMs } = this.#options
    const token = newToken()
    const names = [...this.#channels.keys()]
    const { pushes, nextMs } = await claimPushes(claims, names, limit, leaseMs, token)
    for (const push of pushes) this.#start(push, token)
    return { did: pushes.length, more: pushes.length === limit, nextMs }
  }

  settle(): Promise<void> {
    return this.#running.settle()
  }

  /** What is being sent may finish; what does not in time is cut and due again. */
  async close(): Promise<void> {
    for (const each of await this.#running.end(STOP_GRACE_MS)) each.controller.abort()
    await this.settle()
  }

  #start(push: ClaimedPush, token: string): void {
    const running: Running = { push, token, controller: new AbortController() }
    this.#running.start(`${keyOf(push)} ${token}`, running, this.#take(running), () =>
      this.onFree(),
    )
  }

  /** Send, settle, signal. */
  async #take({ push, token, controller }: Running): Promise<void> {
    const { moments, meter } = this.#options
    const to = this.#to(push)
    await moments.reach('claimed', push.id)
    const startedMs = performance.now()
    const outcome = await send(to, push, controller.signal)
    const durationMs = performance.now() - startedMs
    await moments.reach('delivered', push.id)
    const ours = await this.#settleOne(to, push, token, outcome)
    if (ours === null) return
    if (ours) meter.delivery(recordOf(to, push, outcome, durationMs))
    else meter.leasesLost(1)
    await moments.reach('committed', push.id)
  }

  #to({ pushed_to: to }: ClaimedPush): Address {
    const colon = to.indexOf(':')
    const channel = this.#channels.get(to.slice(0, colon))
    if (channel === undefined)
      throw new Error(`a message was claimed for ${to}, which nobody here reaches`)
    return { channel, address: to.slice(colon + 1) }
  }

  /** Without an answer within a lease it runs out, and the message is sent again. */
  #settleOne(
    to: Address,
    push: ClaimedPush,
    token: string,
    outcome: PushOutcome,
  ): Promise<boolean | null> {
    const { commits, meter, leaseMs } = this.#options
    const sinceMs = performance.now()
    const write = async () => {
      if (outcome.type === 'gone') return this.#unlink(to, push, outcome.error)
      const [ours] = await settlePushes(commits, [settled(to, push, token, outcome)])
      return ours ?? false
    }
    return insist(write, {
      trouble: (error) => meter.trouble('pushes', error),
      over: () => performance.now() - sinceMs > leaseMs,
    })
  }

  /** It may be pushed elsewhere meanwhile: then the message's own turn comes when this lease ends. */
  async #unlink({ channel, address }: Address, push: ClaimedPush, error: string): Promise<boolean> {
    const session = parseSessionKey(push.session_key)
    if (session === null) return false
    return this.#options.commits.tx(async (tx) => {
      const ours = await stopPushing(tx, session, push.pushed_to)
      if (!ours) return false
      await channel.unlink?.(tx, session, address)
      await notePushError(tx, push, errorText(error, ERROR_MAX))
      return true
    })
  }
}

async function send(
  { channel, address }: Address,
  push: ClaimedPush,
  signal: AbortSignal,
): Promise<PushOutcome> {
  const { push_deaths: deaths, attempt_count: attempt, parts_sent: partsSent } = push
  if (deaths >= TURN_DEATHS_MAX)
    return { type: 'dropped', error: `given up: the process died ${deaths} times sending this` }
  const { content } = JSON.parse(push.payload) as { content: string }
  const sessionKey = push.session_key
  return channel.send({ content, sessionKey, address, partsSent, attempt }, signal)
}

const keyOf = (push: ClaimedPush) => `${push.session_key} ${push.position}`

function heldOf({ push, token }: Pick<Running, 'push' | 'token'>) {
  return { bucket: push.bucket, key: push.session_key, position: push.position, token }
}

type Settleable = Exclude<PushOutcome, { type: 'gone' }>

function settled(
  { channel }: Address,
  push: ClaimedPush,
  token: string,
  outcome: Settleable,
): SettledPush {
  const later = outcome.type === 'later'
  return {
    ...heldOf({ push, token }),
    channel: channel.name,
    outcome: outcome.type,
    waitMs: later ? outcome.waitMs : 0,
    partsSent: later ? outcome.partsSent : push.parts_sent,
    error: outcome.type === 'sent' ? null : errorText(outcome.error, ERROR_MAX),
  }
}

const RESULTS = {
  sent: 'taken',
  later: 'failed',
  dropped: 'given_up',
  gone: 'given_up',
} as const satisfies Record<PushOutcome['type'], DeliveryRecord['result']>

function recordOf(
  { channel }: Address,
  push: ClaimedPush,
  outcome: PushOutcome,
  durationMs: number,
): DeliveryRecord {
  const error = outcome.type === 'sent' ? null : errorText(outcome.error, ERROR_MAX)
  const result = { channel: channel.name, result: RESULTS[outcome.type], durationMs, error }
  return deliveryOf(push, result, { attempt: push.attempt_count })
}
