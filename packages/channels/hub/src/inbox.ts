/**
 * What people write on channels. A code links their address; anything else becomes a message of the session that the address
 * stands for, or of the one whose message they answer. Told twice, it counts once: the vendor's id is the message's own.
 */
import { createHash } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { errorText, Refusal } from '../../../../src/core/errors.ts'
import { newId } from '../../../../src/core/ids.ts'
import { parseSessionKey, TEXT_MAX_BYTES } from '../../../../src/core/session.ts'
import { firstUse } from '../../../../src/features/identity/idempotency-rows.ts'
import {
  fromOutside,
  lineageOf,
  lineageText,
  type Origin,
} from '../../../../src/features/limits/lineage.ts'
import { getQuestion } from '../../../../src/features/questions/rows.ts'
import { closedWords, optionIn } from '../../../../src/features/questions/rules.ts'
import { isHeard, type NewEvent } from '../../../../src/features/sessions/event-rows.ts'
import type { FailedReceipt, Heard, Inbox, PushChannel } from '../../../../src/kernel/channel.ts'
import type { LocalHints } from '../../../../src/kernel/hints.ts'
import type { Meter } from '../../../../src/kernel/meter.ts'
import { IDLE, type Service, type Tick } from '../../../../src/kernel/service.ts'
import type { WriteBatcher } from '../../../../src/kernel/write-batcher.ts'
import type { Db } from '../../../../src/store/db.ts'
import { databaseNow } from '../../../../src/store/due.ts'
import type { Store } from '../../../../src/store/open.ts'
import type { PerShard } from '../../../../src/store/shards/ranges.ts'
import { hear, type LinkRow, linkAt, linkByCode, unlink } from './link-rows.ts'
import { type Delivered, deliveredBy, unsend } from './push-rows.ts'
import { codeHash, readChat, readWord, type Word } from './text.ts'

/** The parts of the process that the inbox uses. */
interface InboxApp {
  readonly stores: PerShard<Store>
  readonly kernels: PerShard<{ readonly writes: WriteBatcher; readonly hints: LocalHints }>
  readonly channels: ReadonlyMap<string, PushChannel>
  readonly agents: { knows(agentId: string, userId: string): boolean }
  readonly meter: Meter
}

/** Does what they say to a message that nobody asked for; `once` is the same however often it is told. */
type Answerer = (word: Word, message: Delivered, userId: string, once: string) => Promise<string>

const WORDS = {
  hint: 'Hello! This chat is not linked to anything yet. Open the link that your app shows you, and come back here.',
  linked: 'Linked. Just write, and you will hear back here. /stop ends it.',
  already: 'This chat is linked already. Just write; /stop ends it.',
  wrongCode: 'This link is no longer valid. Ask your app for a new one.',
  stopped: 'Unlinked. Nothing more will come here.',
  textOnly: 'I can read text only.',
  noAgent: 'The agent of this chat is not there any more.',
} as const

/** The same hint goes to an address once in so long. */
const HINT_EVERY_MS = 60_000
const HINTS_MAX = 10_000
const CLIENT_ID_MAX = 128
const ERROR_MAX = 500
/** What a word is for when no message stands there that it could be about. */
const FOR_AGENT = 'agent'

type Where = Pick<Heard, 'channel' | 'address'>

export class ChannelInbox implements Inbox, Service {
  readonly name = 'inbox'
  /** Null: everything is for the agent. */
  onWord: Answerer | null = null
  readonly #app: InboxApp
  readonly #hinted = new Map<string, number>()
  readonly #answers = new Set<Promise<void>>()

  constructor(app: InboxApp) {
    this.#app = app
  }

  async heard(message: Heard): Promise<void> {
    const input = readChat(message.text ?? undefined)
    if (input.type === 'start' && input.code !== null) return this.#link(message, input.code)
    const link = await this.#linkAt(message)
    if (link === null) return this.#hint(message, WORDS.hint)
    switch (input.type) {
      case 'start':
        return this.#answer(message, WORDS.already)
      case 'stop':
        // A redelivered stop applies to the link it was sent to, not to a newer one.
        if ((await this.#meant(message, link, link.id)) !== link.id) return
        await unlink(this.#dbOf(link), link, null)
        return this.#answer(message, WORDS.stopped)
      case 'none':
        return this.#hint(message, WORDS.textOnly)
      case 'text':
        if (await this.#late(message, link, input.text)) return
        if (await this.#word(message, link, input.text)) return
        return this.#take(message, link, input.text)
    }
  }

  async failed({ channel, address, id, outcome, error }: FailedReceipt): Promise<void> {
    const link = await this.#linkAt({ channel, address })
    if (link === null) return
    const db = this.#dbOf(link)
    const message = await deliveredBy(db, link, id)
    if (message === null) return
    const why = errorText(error, ERROR_MAX)
    const said = { linkId: link.id, channel, outcome, error: why, providerIds: [] }
    await unsend(db, message, said)
    if (outcome === 'gone') await unlink(db, link, why)
    this.#app.kernels.ofBucket(link.bucket).hints.hint('outbox')
  }

  async stop(channel: string, address: string): Promise<void> {
    const link = await this.#linkAt({ channel, address })
    if (link !== null) await unlink(this.#dbOf(link), link, null)
  }

  /** Whose an address is, nobody knows before it is found: all shards are asked. */
  async #linkAt({ channel, address }: Where): Promise<LinkRow | null> {
    const found = await Promise.all(
      this.#app.stores.all.map(({ commits }) => linkAt(commits, channel, address)),
    )
    return found.find((link) => link !== null) ?? null
  }

  #dbOf({ bucket }: Pick<LinkRow, 'bucket'>): Db {
    return this.#app.stores.ofBucket(bucket).commits
  }

  async tick(): Promise<Tick> {
    return IDLE
  }

  async settle(): Promise<void> {
    await Promise.all(this.#answers)
  }

  close(): Promise<void> {
    return this.settle()
  }

  /** To what was said last, or the message they answer, where nobody asked for it. False: it is for the agent. */
  async #word(message: Heard, link: LinkRow, text: string): Promise<boolean> {
    const db = this.#dbOf(link)
    const word = readWord(text)
    if (word === null || this.onWord === null) return false
    const newest = await deliveredBy(db, link, message.to ?? null)
    const target = newest === null || newest.reason === 'answer' ? FOR_AGENT : newest.effect_id
    const meant = await this.#meant(message, link, target)
    if (meant === FOR_AGENT) return false
    const about = meant === target ? newest : await deliveredBy(db, link, null, meant)
    // Of a link that has ended since: it was done then.
    if (about === null) return true
    const words = await this.onWord(word, about, link.user_id, clientIdOf(message))
    this.#answer(message, words)
    return true
  }

  /** The reply to an answer after the question has ended: the first answer counts. */
  async #late(message: Heard, link: LinkRow, text: string): Promise<boolean> {
    if (message.to == null) return false
    const db = this.#dbOf(link)
    const { question_id: id = null } = (await deliveredBy(db, link, message.to)) ?? {}
    const question = id === null ? null : await getQuestion(db, link.user_id, id)
    if (question === null || question.status === 'open') return false
    if (optionIn(text, JSON.parse(question.options) as string[]) === null) return false
    // A redelivered answer is the one that counted.
    const heard = await isHeard(db, question, clientIdOf(message))
    if (!heard) this.#answer(message, closedWords(question))
    return true
  }

  /** What a message was about when it first came: by its redelivery after a crash, others may have come. */
  async #meant(message: Heard, link: LinkRow, target: string): Promise<string> {
    const claim = { owner: `user:${link.user_id}`, key: `heard ${clientIdOf(message)}` }
    return this.#dbOf(link).tx(async (tx) => {
      const { fresh, use } = await firstUse(tx, { ...claim, fingerprint: target })
      // A redelivery does not reopen the reply window; neither does /stop. A message for the agent opens it when it is appended.
      if (fresh && use !== FOR_AGENT && use !== link.id) await hear(tx, link)
      return use
    })
  }

  async #take(message: Heard, link: LinkRow, text: string): Promise<void> {
    const { kernels, agents, channels } = this.#app
    const answered = await this.#answered(message, link)
    const session = parseSessionKey(answered?.session_key ?? link.session_key)
    if (session === null) return
    if (!agents.knows(session.agentId, session.userId)) return this.#hint(message, WORDS.noAgent)
    const event: NewEvent = {
      ...{ session, id: newId(), type: 'user_message', clientId: clientIdOf(message) },
      payload: JSON.stringify({ text: fitting(text) }),
      ...(answered?.question_id == null ? {} : { about: { id: answered.question_id } }),
    }
    const origin = channels.get(link.channel)?.origin ?? null
    await this.#dbOf(link).tx(async (tx) => {
      const { fresh } = await kernels.home.writes.append(await marked(event, origin, tx), tx)
      // Redelivery does not reopen the reply window; neither does /stop.
      if (fresh) await hear(tx, link)
    })
    const { hints } = kernels.ofBucket(session.bucket)
    hints.hint('turns')
    hints.hint('outbox', [session.key])
  }

  /** The message that they answer; null if they quote none. */
  async #answered({ to = null }: Heard, link: LinkRow): Promise<Delivered | null> {
    return to === null ? null : deliveredBy(this.#dbOf(link), link, to)
  }

  async #link(message: Where, code: string): Promise<void> {
    const link = await this.#linkByCode(message, codeHash(code)).catch((error: unknown) => {
      if (error instanceof Refusal) return error
      throw error
    })
    if (link instanceof Refusal) return this.#answer(message, link.message)
    this.#answer(message, link === null ? WORDS.wrongCode : WORDS.linked)
    if (link !== null) this.#app.kernels.ofBucket(link.bucket).hints.hint('outbox')
  }

  /** Only the shard of its person knows a code. What the address stood for in another ends. */
  async #linkByCode(message: Where, hash: string): Promise<LinkRow | null> {
    const dbs = this.#app.stores.all.map(({ commits }) => commits)
    for (const db of dbs) {
      const link = await linkByCode(db, hash, message)
      if (link === null) continue
      for (const other of dbs.filter((each) => each !== db)) {
        const old = await linkAt(other, message.channel, message.address)
        if (old !== null) await unlink(other, old, null)
      }
      return link
    }
    return null
  }

  /** Rate-limited by address, so that a flood is not answered message by message. */
  #hint(to: Where, text: string): void {
    const nowMs = performance.now()
    const key = `${to.channel}:${to.address}`
    const lastMs = this.#hinted.get(key)
    if (lastMs !== undefined && nowMs - lastMs < HINT_EVERY_MS) return
    if (this.#hinted.size >= HINTS_MAX) this.#hinted.clear()
    this.#hinted.set(key, nowMs)
    this.#answer(to, text)
  }

  /** Our own words are a courtesy: nobody waits for them, and lost ones are not sent again. */
  #answer({ channel, address }: Where, text: string): void {
    const { channels, meter } = this.#app
    const said = channels.get(channel)?.say?.(address, text)
    if (said === undefined) return
    const answer: Promise<void> = said
      .catch((error: unknown) => meter.trouble('inbox', error))
      .finally(() => this.#answers.delete(answer))
    this.#answers.add(answer)
  }
}

function clientIdOf({ channel, id }: Heard): string {
  const whole = `${channel}:${id}`
  if (whole.length <= CLIENT_ID_MAX) return whole
  return `${channel}:${createHash('sha256').update(id).digest('hex')}`
}

/** A text that is too long for a message is cut, not refused: nobody could tell its writer. */
function fitting(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= TEXT_MAX_BYTES) return text
  return bytes
    .subarray(0, TEXT_MAX_BYTES)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')
}

/** A person's message all the same; what it leads to is told from what they said elsewhere. */
async function marked(event: NewEvent, origin: Origin | null, tx: Db): Promise<NewEvent> {
  if (origin === null) return event
  const born = lineageOf({ ...event, at: await databaseNow(tx), lineage: null })
  return { ...event, lineage: lineageText(fromOutside(born, origin)) }
}
