/**
 * The pushes service: sends what is due to people who hold no connection, the first message of each session at a time, each
 * under a lease, by the first of the person's links that takes it. Each channel has places of its own, a slow send gives up
 * its place, and one person has only some of them, so that nobody delays the others.
 */
import { TURN_DEATHS_MAX } from '../../../../src/core/backoff.ts'
import { errorText } from '../../../../src/core/errors.ts'
import { newId, newToken } from '../../../../src/core/ids.ts'
import type { ShownQuestion } from '../../../../src/features/sessions/turn.ts'
import { Shares } from '../../../../src/kernel/capacity.ts'
import type { PushChannel, PushOutcome } from '../../../../src/kernel/channel.ts'
import {
  type Call,
  LeasedRuns,
  markSlow,
  retryWhileUnavailable,
  SLOW_SWEEP_MS,
} from '../../../../src/kernel/leased-runs.ts'
import type { DeliveryRecord, Meter } from '../../../../src/kernel/meter.ts'
import { deliveryOf } from '../../../../src/kernel/outbox.ts'
import { IDLE, type Service, type TestSignals, type Tick } from '../../../../src/kernel/service.ts'
import type { Db } from '../../../../src/store/db.ts'
import { EFFECTS } from '../../../../src/store/due.ts'
import { getLink, type LinkOutcome, type LinkRow, unlink } from './link-rows.ts'
import {
  type ClaimedPush,
  claimPushes,
  extendPushes,
  markLink,
  type Said,
  settlePush,
} from './push-rows.ts'
import {
  type Candidate,
  CLOSED,
  chooseRoute,
  type Route,
  type Sending,
  type Settlement,
  settleSent,
  settleUnsent,
  type Window,
} from './route.ts'
import { buttonsFor, optionButtons, withOptions } from './text.ts'

export interface PushesOptions {
  readonly channels: readonly PushChannel[]
  readonly claims: Db
  readonly commits: Db
  readonly leaseMs: number
  readonly meter: Meter
  readonly moments: TestSignals
}

/** As its effect holds it. */
interface Message {
  readonly content: string
  readonly question?: ShownQuestion
}

interface Running extends Call {
  readonly push: ClaimedPush
  readonly token: string
  readonly controller: AbortController
  readonly route: Route
  readonly message: Sending
}

/** Messages of one channel on their way at once that have just begun, and all of them with those that hang. */
const CONCURRENCY = 64
const RUNNING_MAX = 1024
/** With fewer free places a channel waits for more: a claim is worth its round trip. */
const ROOM_MIN = 4
/** Messages of one person on their way at once, of all channels; a claim may bring more. */
const PERSON_MAX = 16
const STOP_GRACE_MS = 5_000
const ERROR_MAX = 500
const ALWAYS_OPEN: Window = { windowMs: null, templated: false }

export class PushesService implements Service {
  readonly name = 'pushes'
  readonly tables = [EFFECTS]
  /** Called when a message is done: the session's next one may be due. */
  onFree: () => void = () => undefined
  readonly #options: PushesOptions
  readonly #channels: ReadonlyMap<string, PushChannel>
  readonly #running: LeasedRuns<Running>
  /** By channel, how many are on their way, and how many of them are slow. */
  readonly #sending = new Map<string, { all: number; slow: number }>()
  readonly #people = new Shares(PERSON_MAX)
  #sweep: NodeJS.Timeout | null = null

  constructor(options: PushesOptions) {
    this.#options = options
    this.#channels = new Map(options.channels.map((channel) => [channel.name, channel]))
    this.#running = new LeasedRuns({
      leaseMs: options.leaseMs,
      keyOf: ({ push }) => keyOf(push),
      extend: (all) => extendPushes(options.claims, all.map(heldOf), options.leaseMs),
      lost: ({ controller }) => controller.abort(),
      meter: options.meter,
    })
  }

  async tick(): Promise<Tick> {
    const open = [...this.#channels.keys()].filter((name) => this.#room(name) >= ROOM_MIN)
    if (open.length === 0) return IDLE
    // Half of what is free: all of a claim may be one person's, and the others need places, too.
    const limit = Math.min(...open.map((name) => this.#room(name))) >> 1
    const { claims, leaseMs } = this.#options
    const token = newToken()
    const busy = this.#people.above(0)
    const { pushes, nextMs } = await claimPushes(claims, open, limit, leaseMs, token, busy)
    for (const push of pushes) this.#start(push, token)
    if (pushes.length > 0)
      this.#sweep ??= setInterval(() => this.#makeRoom(), SLOW_SWEEP_MS).unref()
    return { did: pushes.length, more: pushes.length === limit, nextMs }
  }

  settle(): Promise<void> {
    return this.#running.settle()
  }

  /** What is being sent may finish; what does not in time is cut and due again. */
  async close(): Promise<void> {
    for (const each of await this.#running.end(STOP_GRACE_MS)) each.controller.abort()
    await this.settle()
    if (this.#sweep !== null) clearInterval(this.#sweep)
    this.#sweep = null
  }

  #room(channel: string): number {
    const { all, slow } = this.#sendingBy(channel)
    return Math.min(CONCURRENCY - (all - slow), RUNNING_MAX - all)
  }

  #sendingBy(channel: string): { all: number; slow: number } {
    const known = this.#sending.get(channel) ?? { all: 0, slow: 0 }
    this.#sending.set(channel, known)
    return known
  }

  #start(push: ClaimedPush, token: string): void {
    const message = sendingOf(push)
    const route = chooseRoute(push.reason, message.links, (name) => this.#windowOf(name))
    const running: Running = {
      ...{ push, token, message, route, startedMs: performance.now(), slow: false },
      controller: new AbortController(),
    }
    const sending = this.#sendingBy(channelOf(running))
    const person = userOf(push)
    sending.all++
    this.#people.add(person)
    this.#running.start(`${keyOf(push)} ${token}`, running, this.#take(running), () => {
      sending.all--
      if (running.slow) sending.slow--
      this.#people.remove(person)
      this.onFree()
    })
  }

  #makeRoom(): void {
    const slow = markSlow(this.#running.runs())
    for (const each of slow) this.#sendingBy(channelOf(each)).slow++
    if (slow.length > 0) this.onFree()
  }

  /** Choose, send, settle, signal. */
  async #take({ push, token, controller, message, route, startedMs }: Running): Promise<void> {
    const { moments, meter } = this.#options
    await moments.reach('claimed', push.id)
    const settlement =
      route.type === 'send'
        ? settleSent(route, await this.#send(route, push, controller.signal), message)
        : settleUnsent(route, message)
    const durationMs = performance.now() - startedMs
    await moments.reach('delivered', push.id)
    const ours = await this.#settleOne(push, token, route, settlement)
    if (ours === null) return
    if (!ours) meter.leasesLost(1)
    else if (route.link !== null && (settlement.tried || settlement.outcome === 'dropped'))
      meter.delivery(recordOf(push, route.link, settlement, durationMs))
    await moments.reach('committed', push.id)
  }

  #windowOf(name: string): Window {
    const channel = this.#channels.get(name)
    if (channel === undefined) return ALWAYS_OPEN
    return { windowMs: channel.windowMs ?? null, templated: channel.templated ?? false }
  }

  #send(
    { link, template }: Route & { type: 'send' },
    push: ClaimedPush,
    signal: AbortSignal,
  ): Promise<PushOutcome | { type: 'elsewhere' }> {
    const channel = this.#channels.get(link.channel)
    if (channel === undefined) return Promise.resolve({ type: 'elsewhere' })
    const { push_deaths: deaths, attempt_count: attempt, parts_sent: partsSent } = push
    if (deaths >= TURN_DEATHS_MAX) {
      const error = `given up: the process died ${deaths} times sending this`
      return Promise.resolve({ type: 'dropped', error })
    }
    const { content: text, question } = JSON.parse(push.payload) as Message
    const content = channel.buttons || question === undefined ? text : withOptions(text, question)
    const { id, session_key: sessionKey, reason } = push
    const message = { id, content, sessionKey, reason, address: link.address }
    const answers = answeredBy(push, link)
    const buttons = question === undefined ? buttonsFor(reason) : optionButtons(question)
    return channel.send({ ...message, answers, buttons, partsSent, attempt, template }, signal)
  }

  /** Without an answer within a lease it runs out, and the message is sent again. */
  #settleOne(
    push: ClaimedPush,
    token: string,
    route: Route,
    settlement: Settlement,
  ): Promise<boolean | null> {
    const { commits, meter, leaseMs } = this.#options
    const sinceMs = performance.now()
    const { outcome, waitMs, partsSent, tried } = settlement
    const error = settlement.error === null ? null : errorText(settlement.error, ERROR_MAX)
    const said = saidOf(route, settlement, error)
    const settled = {
      ...{ ...heldOf({ push, token }), channel: route.link?.channel ?? null },
      ...{ outcome, waitMs, partsSent, tried, error, since: push.now },
    }
    const write = async () => {
      const ours = await settlePush(commits, settled, said)
      // The link ends after its message is settled: dead in between, the next message finds nobody there, too.
      for (const each of said) if (ours && each.outcome === 'gone') await this.#end(each)
      return ours
    }
    return retryWhileUnavailable(write, {
      trouble: (trouble) => meter.trouble('pushes', trouble),
      over: () => performance.now() - sinceMs > leaseMs,
    })
  }

  async #end({ linkId, error }: Said): Promise<void> {
    const { commits } = this.#options
    const link = await getLink(commits, null, linkId)
    if (link !== null) await unlink(commits, link, error ?? '')
  }
}

function sendingOf({ reason, links, parts_sent: partsSent, refused }: ClaimedPush): Sending {
  const candidates = links === null ? [] : (JSON.parse(links) as Candidate[])
  return { reason, partsSent, refused, links: candidates }
}

/** What was asked elsewhere is answered here without a thread. */
function answeredBy({ asked_as: asked, reason }: ClaimedPush, { channel }: Candidate) {
  const prefix = `${channel}:`
  return reason === 'answer' && asked?.startsWith(prefix) ? asked.slice(prefix.length) : null
}

const userOf = ({ session_key: key }: ClaimedPush) => key.slice(0, key.indexOf(':'))
const channelOf = ({ route }: Running) => route.link?.channel ?? ''

const keyOf = (push: ClaimedPush) => `${push.session_key} ${push.position}`

function heldOf({ push, token }: Pick<Running, 'push' | 'token'>) {
  return { bucket: push.bucket, key: push.session_key, position: push.position, token }
}

/** What is kept of each link it might have gone by: the closed ones that were passed, once, when it has gone by another. */
function saidOf(route: Route, { outcome, said, ids }: Settlement, error: string | null): Said[] {
  const { link } = route
  if (link === null || said === null) return []
  const passed = route.type === 'send' && outcome === 'sent' ? route.passed : []
  const closed = passed.map(({ id, channel }) => ({
    ...{ linkId: id, channel, outcome: 'closed' as const, error: CLOSED, providerIds: [] },
  }))
  const { id, channel } = link
  return [...closed, { linkId: id, channel, outcome: said, error, providerIds: ids }]
}

/** As the meter tells it: gone with nobody else to ask is left to the sockets, and so given up here. */
function resultOf({ outcome, said }: Settlement): DeliveryRecord['result'] {
  if (outcome === 'sent') return 'taken'
  return outcome === 'dropped' || said === 'gone' ? 'given_up' : 'failed'
}

function recordOf(
  push: ClaimedPush,
  { channel }: Candidate,
  settlement: Settlement,
  durationMs: number,
): DeliveryRecord {
  const error = settlement.error === null ? null : errorText(settlement.error, ERROR_MAX)
  const result = { channel, result: resultOf(settlement), durationMs, error }
  return deliveryOf(push, result, { attempt: push.attempt_count })
}

const TEST = 'This is a test: what your agents have to say reaches you here.'

const KEPT = {
  sent: 'sent',
  later: 'later',
  closed: 'closed',
  dropped: 'refused',
  gone: 'gone',
} as const satisfies Record<PushOutcome['type'], LinkOutcome>

/** Sends a test message over a link, and stores what the channel said as for any message. */
export async function tryLink(
  db: Db,
  channel: PushChannel,
  link: LinkRow,
  signal: AbortSignal,
): Promise<{ outcome: LinkOutcome; error: string | null }> {
  const { session_key: sessionKey, address } = link
  const line = { id: newId(), content: TEST, sessionKey, address, reason: 'notice' as const }
  const template = link.closed_at !== null && channel.templated === true
  const told = await channel.send(
    { ...line, partsSent: 0, attempt: 1, template, answers: null, buttons: [] },
    signal,
  )
  const outcome = KEPT[told.type]
  const error = 'error' in told ? errorText(told.error, ERROR_MAX) : null
  if (outcome === 'gone') await unlink(db, link, error ?? '')
  else await markLink(db, link, outcome, error)
  return { outcome, error }
}
