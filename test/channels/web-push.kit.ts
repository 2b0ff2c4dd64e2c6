/** Web Push: a push service, and browsers that read what was encrypted for them. */
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, verify } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebPushChannel } from '../../packages/channels/web-push/src/channel.ts'
import { keysOf } from '../../packages/channels/web-push/src/crypto.ts'
import { type Kit, LATER_MS, type Refusal } from './laws.ts'

const SECRET = 'a-secret-that-both-keys-are-made-from'
const STATUS: Record<Refusal, number> = { later: 429, gone: 410, dropped: 413, closed: 0 }

export async function webPushKit(): Promise<Kit> {
  const browsers = new Map<string, Browser>()
  const arrivals = new Map<string, string[]>()
  const ids = new Map<string, string[]>()
  let attempts = 0
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    attempts++
    const browser = browsers.get(request.url ?? '')
    if (browser === undefined || !isVapid(request.headers.authorization ?? '', root)) {
      response.writeHead(403).end()
      return
    }
    const { id, body } = JSON.parse(browser.read(Buffer.concat(chunks)))
    const refusal = kit.refuse(body)
    if (refusal !== null) {
      response.writeHead(STATUS[refusal], { 'retry-after': String(LATER_MS / 1000) }).end()
      return
    }
    const { address } = browser
    arrivals.set(address, [...(arrivals.get(address) ?? []), body])
    ids.set(address, [...(ids.get(address) ?? []), id])
    await kit.taken(body)
    response.writeHead(201).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const keys = keysOf(SECRET)
  const kit: Kit = {
    name: 'web-push',
    env: { WEB_PUSH_SECRET: SECRET, WEB_PUSH_CONTACT: 'mailto:ops@wakeful.example' },
    address: (n) => {
      const path = `/push/${n}`
      const browser = browsers.get(path) ?? new Browser(`${root}${path}`)
      browsers.set(path, browser)
      return browser.address
    },
    arrived: (address) => arrivals.get(address) ?? [],
    attempts: () => attempts,
    // By this a browser puts the second in place of the first.
    handles: (address) => ids.get(address) ?? [],
    refuse: () => null,
    taken: () => undefined,
    laterMs: LATER_MS,
    once: false,
    channel: () =>
      new WebPushChannel({
        ...{ contact: 'mailto:ops@wakeful.example', allowPrivate: true, keys },
      }),
    reset: () => {
      arrivals.clear()
      attempts = 0
      kit.refuse = () => null
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
  return kit
}

/** The other end of RFC 8291, written from its text and not from ours. */
export class Browser {
  readonly address: string
  readonly #pair = createECDH('prime256v1')
  readonly #auth = Buffer.from('0123456789abcdef')

  constructor(endpoint: string) {
    this.#pair.generateKeys()
    const p256dh = this.#pair.getPublicKey('base64url')
    const auth = this.#auth.toString('base64url')
    this.address = JSON.stringify({ endpoint, keys: { p256dh, auth } })
  }

  read(message: Buffer): string {
    const salt = message.subarray(0, 16)
    const idLength = message.readUInt8(20)
    const sender = message.subarray(21, 21 + idLength)
    const box = message.subarray(21 + idLength)
    const info = Buffer.concat([
      ...[Buffer.from('WebPush: info\0'), this.#pair.getPublicKey(), sender],
    ])
    const expand = (secret: Buffer, salt: Buffer, info: Buffer | string, length: number) =>
      Buffer.from(hkdfSync('sha256', secret, salt, Buffer.from(info), length))
    const secret = expand(this.#pair.computeSecret(sender), this.#auth, info, 32)
    const key = expand(secret, salt, 'Content-Encoding: aes128gcm\0', 16)
    const nonce = expand(secret, salt, 'Content-Encoding: nonce\0', 12)
    const decipher = createDecipheriv('aes-128-gcm', key, nonce)
    decipher.setAuthTag(box.subarray(-16))
    const plain = Buffer.concat([decipher.update(box.subarray(0, -16)), decipher.final()])
    if (plain.at(-1) !== 2) throw new Error('the record does not end')
    return plain.subarray(0, -1).toString('utf8')
  }
}

/** RFC 8292: signed by the key it names, for this service. */
function isVapid(header: string, audience: string): boolean {
  const [, token = '', key = ''] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(header) ?? []
  const [head = '', claims = '', mac = ''] = token.split('.')
  const point = Buffer.from(key, 'base64url')
  const x = point.subarray(1, 33).toString('base64url')
  const y = point.subarray(33).toString('base64url')
  if (point.length !== 65) return false
  const publicKey = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' })
  const signed = Buffer.from(`${head}.${claims}`)
  const right = { key: publicKey, dsaEncoding: 'ieee-p1363' as const }
  const { aud, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'))
  const isSigned = verify('sha256', signed, right, Buffer.from(mac, 'base64url'))
  return isSigned && aud === audience && sub.startsWith('mailto:')
}
