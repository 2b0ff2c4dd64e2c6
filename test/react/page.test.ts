/** `wakeful/react` in a real browser: the example's page, with its server killed and started again. */
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ROOT } from '../../src/root.ts'
import { launchBrowser } from '../console/browser.ts'
import { folder, Server } from '../process/server.ts'

const WAIT_MS = 60_000
const LONG = { timeout: WAIT_MS }
/** Where pictures go, if anywhere. */
const PICTURES = process.env.PICTURES

let browser: Browser
let server: Server
let page: Page
const complaints: string[] = []

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((done) => probe.listen(0, '127.0.0.1', done))
  const { port } = probe.address() as { port: number }
  await new Promise((done) => probe.close(done))
  return port
}

const home = folder()
const start = (port: number) =>
  new Server(
    { DATABASE_URL: `pglite:${join(home, 'data')}`, PORT: String(port), LOG_LEVEL: 'error' },
    { bin: join(ROOT, 'examples/react-chat/server.mjs'), folder: home },
  )

beforeAll(async () => {
  browser = await launchBrowser()
}, 200_000)
afterAll(() => browser?.close())

async function picture(name: string): Promise<void> {
  if (PICTURES === undefined) return
  mkdirSync(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `${name}.png`) })
}

async function say(text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
}

const agents = () => page.locator('.message.agent:not(.typing) p').allTextContents()

it('contract: a page streams, shows what comes unasked, answers questions by buttons, and survives the death of its server', async () => {
  const port = await freePort()
  server = start(port)
  const url = await server.address
  page = await browser.newPage({ viewport: { width: 900, height: 700 } })
  page.setDefaultTimeout(WAIT_MS)
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.goto(url)
  await page.getByText('Connected').waitFor()
  await picture('1-empty')

  await say('how do I bake bread?')
  await page.locator('.message.streaming').getByText('A sourdough').waitFor()
  const part = (await agents()).at(-1) ?? ''
  await picture('2-streaming')
  await page.getByText('grown by half.').waitFor()
  await page.locator('.message.agent.delivered').waitFor()
  const [whole = ''] = await agents()
  expect(whole.startsWith(part)).toBe(true)
  expect(await page.locator('.message.user small').textContent()).toBe('✓ Delivered')
  await picture('3-whole')

  await say('remind me')
  await page.getByText('take it out').waitFor()
  expect(await page.locator('.unasked').textContent()).toBe('Reminder')

  await say('order flour')
  await page.getByRole('button', { name: 'Yes' }).waitFor()
  await picture('4-question')
  await page.reload()
  await page.getByRole('button', { name: 'Yes' }).waitFor()
  await page.getByRole('button', { name: 'Yes' }).click()
  await page.getByText('Ordered: 25 kg of flour').waitFor()
  expect(await page.getByRole('button', { name: 'Yes' }).count()).toBe(0)
  await picture('5-answered')

  await say('and how is rye baked?')
  await page.locator('.message.streaming').getByText('A sourdough').waitFor()
  await server.end('SIGKILL')
  await page.getByText('Connection lost').waitFor()
  await picture('6-cut-off')
  await say('are you there?')
  expect(await page.locator('.message.user.sending').count()).toBe(1)
  server = start(port)
  await server.address
  await page.getByText('Connected').waitFor()
  // Both answers, whole and once, after what was cut off was withdrawn.
  await expect
    .poll(async () => (await agents()).filter((text) => text === whole).length, {
      timeout: WAIT_MS,
    })
    .toBe(3)
  await expect.poll(() => page.locator('.message.user.delivered').count(), LONG).toBe(6)
  await expect.poll(() => page.locator('.message.streaming').count(), LONG).toBe(0)
  await picture('7-back')

  await page.reload()
  await expect.poll(async () => (await agents()).length, LONG).toBe(7)
  const order = await page.locator('.message p').allTextContents()
  expect(order[0]).toBe('how do I bake bread?')
  expect(order.filter((text) => text === 'Yes')).toHaveLength(1)
  await picture('8-history')
  await page.setViewportSize({ width: 390, height: 700 })
  await picture('9-phone')
  expect(complaints).toEqual([])
}, 240_000)
