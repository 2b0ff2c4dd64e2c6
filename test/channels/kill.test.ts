/**
 * Every channel in real processes: one is killed when the vendor has the message and nobody has noted it, and the rest goes out
 * in order, that one at most once more; two that share the work send each message once.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { folder, post, Server } from '../process/server.ts'
import { call, type Loose } from '../setup/http.ts'
import type { Stage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { discordKit } from './discord.kit.ts'
import { emailKit } from './email.kit.ts'
import type { Kit } from './laws.ts'
import { slackKit } from './slack.kit.ts'
import { telegramKit } from './telegram.kit.ts'
import { webPushKit } from './web-push.kit.ts'
import { whatsappKit } from './whatsapp.kit.ts'

const APP = fileURLToPath(new URL('kill-app.mjs', import.meta.url))
const KITS = [telegramKit, slackKit(false), emailKit, whatsappKit, discordKit, webPushKit]
/** Longer than any pause of a process that lives: only one that is dead is sent for again. */
const LEASE_MS = '6000'
/** Rounds until both of two processes have sent something; one is enough, nearly always. */
const ROUNDS_MAX = 20

/** A vendor that never answers. */
const never = new Promise<void>(() => undefined)

eachStore('channels of processes', (store) => {
  let kits: Kit[] = []
  beforeAll(async () => {
    kits = await Promise.all(KITS.map((start) => start()))
  })
  beforeEach(() => {
    for (const kit of kits) kit.reset()
  })
  afterAll(() => Promise.all(kits.map((kit) => kit.stop())))

  const user = ({ name }: Kit) => `ann-${name}`
  const key = (kit: Kit) => `${user(kit)}:bot:t`
  const arrived = (kit: Kit) => kit.arrived(kit.address(1))
  const counted = (word: string, times: number) =>
    Array.from({ length: times }, (_, n) => `${word} ${n + 1}`)

  const link = async (url: string, kit: Kit) => {
    const asked = { channel: kit.name, session_key: key(kit) }
    const body = kit.opens ? asked : { ...asked, address: kit.address(1) }
    const made = await call(`${url}/v1/links`, 'POST', body)
    expect(made.status, made.text).toBe(201)
    if (kit.opens) await kit.write?.({ url } as Stage, kit.address(1), `link ${made.body.code}`)
  }
  const promise = async (url: string, kit: Kit, text: string) => {
    const alarm = { kind: 'once', delay_seconds: 1, wake_message: text }
    const body = { ...alarm, agent_id: 'bot', conversation_id: 't' }
    const set = await call(`${url}/v1/alarms`, 'POST', body, { 'wakeful-act-as': user(kit) })
    expect(set.status, set.text).toBe(201)
  }
  const messages = async (url: string, kit: Kit): Promise<Loose[]> =>
    (await call(`${url}/v1/sessions/${key(kit)}/effects`, 'GET')).body.data.filter(
      ({ type }: Loose) => type === 'send_message',
    )
  /** Each of them is noted as sent, so that nothing is on its way any more. */
  const noted = async (url: string, count: number) => {
    for (const kit of kits)
      await until(`${count} messages are noted (${kit.name})`, async () => {
        const all = await messages(url, kit)
        return all.length === count && all.every(({ status }) => status === 'completed')
      })
  }
  /** Answers when every vendor has that message, and has told nobody. */
  const holding = async (text: string) => {
    const held = new Set<string>()
    for (const kit of kits)
      kit.taken = (said) => {
        if (said !== text) return
        held.add(kit.name)
        return never
      }
    await until(`every vendor holds ${text}`, () => held.size === kits.length)
    for (const kit of kits) kit.taken = () => undefined
  }
  const sentBy = async ({ url }: { url: string }) => {
    const { text } = await call(`${url}/metrics`, 'GET')
    return kits.filter(({ name }) => text.includes(`channel="${name}",result="taken"`)).length
  }

  it('killed between the send and its note: each promise arrives, in order, that one at most once more and under its own id; two processes send each once', async () => {
    const postgres = store.name === 'postgres'
    const env = {
      DATABASE_URL: postgres ? await store.database() : `pglite:${join(folder(), 'data')}`,
      ...Object.assign({}, ...kits.map((kit) => kit.env)),
      ...{ WAKEFUL_APP: APP, WAKEFUL_LEASE_MS: LEASE_MS, AUTONOMY_COOLDOWN_MS: '0' },
      ...{ WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true', LOG_LEVEL: 'error' },
    }
    const [first, beside] = await Promise.all([
      Server.start(env),
      postgres ? Server.start(env) : null,
    ])
    // The other one looks away, so that all of it is in the hands of the one that dies.
    beside?.signal('SIGSTOP')
    for (const kit of kits) await link(first.url, kit)
    const held = holding('red 2')
    await Promise.all(kits.map((kit) => promise(first.url, kit, 'count 3 red')))
    await held
    expect((await first.end('SIGKILL')).signal).toBe('SIGKILL')
    beside?.signal('SIGCONT')
    const second = beside ?? (await Server.start(env))
    await noted(second.url, 3)
    for (const kit of kits) {
      const again = kit.once ? [] : ['red 2']
      expect([kit.name, arrived(kit)]).toEqual([kit.name, ['red 1', 'red 2', ...again, 'red 3']])
      const told = (await messages(second.url, kit)).map((each) => [each.reason, each.channel])
      expect(told).toEqual(Array(3).fill(['promise', kit.name]))
      const handles = kit.handles?.(kit.address(1))
      if (handles === undefined) continue
      const [one, two, three] = [...new Set(handles)]
      expect([kit.name, handles]).toEqual([kit.name, [one, two, two, three]])
    }
    if (!postgres) return

    const two = [second, await Server.start(env)]
    let round = 0
    while ((await Promise.all(two.map(sentBy))).includes(0) || round === 0) {
      expect(++round).toBeLessThan(ROUNDS_MAX)
      const before = kits.map(arrived)
      await Promise.all(
        kits.map(async (kit, n) => {
          const { url } = two[n % 2] ?? second
          expect(await post(url, key(kit), { text: `count 5 round${round}` })).toMatchObject({
            status: 202,
          })
        }),
      )
      await noted(second.url, 3 + 5 * round)
      for (const [n, kit] of kits.entries())
        expect(arrived(kit)).toEqual([...(before[n] ?? []), ...counted(`round${round}`, 5)])
    }
  })
})
