/** The console in a real browser, against a real server with the demo agent. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { companion, openApp } from '../../src/index.ts'
import { launchBrowser } from './browser.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const WAIT_MS = 10_000
const WIDE = { width: 1440, height: 900 }
const NARROW = { width: 380, height: 800 }

let app: Awaited<ReturnType<typeof openApp>>
let url: string
let browser: Browser
let context: BrowserContext
let page: Page
/** What the browser complained about, and addresses outside of our server. */
let complaints: string[]
let strangers: string[]

function buildConsole(): void {
  const { status, stdout, stderr } = spawnSync('npm', ['run', 'build', '-w', 'console'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the console could not be built\n${stdout}${stderr}`)
}

beforeAll(async () => {
  if (!existsSync(`${ROOT}/dist/console/index.html`)) buildConsole()
  const env = { LOG_LEVEL: 'silent', PORT: '0' }
  const opening = openApp({ database: 'memory:', agents: { companion }, env })
  browser = await launchBrowser()
  app = await opening
  url = await app.listen()
  await app.start()
})

afterAll(async () => {
  await browser?.close()
  await app?.stop()
})

beforeEach(async () => {
  await visit({ viewport: WIDE })
})

afterEach(async () => {
  await context.close()
  expect(complaints).toEqual([])
  expect(strangers).toEqual([])
})

async function visit(options: Parameters<Browser['newContext']>[0]): Promise<void> {
  await context?.close()
  complaints = []
  strangers = []
  context = await browser.newContext({ timezoneId: 'Europe/Berlin', ...options })
  context.setDefaultTimeout(WAIT_MS)
  page = await context.newPage()
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    const { url: from } = message.location()
    // A refused phrase is a 400, and the browser reports every one of those.
    if (message.type() === 'error' && !from.endsWith('/v1/schedules/preview'))
      complaints.push(`${message.text()} ${from}`)
  })
  const notOurs = (address: string) => new URL(address).host !== new URL(url).host
  page.on('request', (request) => {
    if (notOurs(request.url())) strangers.push(request.url())
  })
  page.on('websocket', (socket) => {
    if (notOurs(socket.url())) strangers.push(socket.url())
  })
}

/** Whatever keeps people out, as axe sees it. */
async function barriers(): Promise<string[]> {
  await page.evaluate(AXE)
  const found = (await page.evaluate('axe.run()')) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[]
  }
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`)
}

async function overflow(): Promise<number> {
  const width = await page.evaluate('document.documentElement.scrollWidth')
  return Math.max(0, Number(width) - (page.viewportSize()?.width ?? 0))
}

const corridor = () => page.getByRole('region', { name: 'Corridor' })
const messages = () => page.getByRole('log', { name: 'Messages' })

async function startSession(): Promise<string> {
  await page.goto(url)
  const key = await page.getByLabel('Session key').inputValue()
  await page.getByRole('button', { name: 'Open session' }).click()
  await page.getByText('Nothing was said yet').waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  return key
}

async function say(text: string): Promise<void> {
  await page.getByLabel('Message to the agent').fill(text)
  await page.keyboard.press('Enter')
}

describe('a session', () => {
  test('is started, answers live, and shows what led to the answer', async () => {
    const key = await startSession()
    expect(key).toMatch(/^me:companion:[a-z0-9]{6}$/)
    expect(page.url()).toBe(`${url}/#/sessions/${key}`)
    expect(await barriers()).toEqual([])
    // A reload would lose this mark.
    await page.evaluate('window.sameDocument = true')
    await say('Hello from a browser')
    await messages().getByText('You said: “Hello from a browser”').waitFor()
    await corridor().getByText('Message delivered').waitFor()
    await corridor().getByText('Turn committed').waitFor()
    await corridor()
      .getByText(/fires in \d+ s/)
      .waitFor()
    await corridor().getByText('The agent may write on its own.').waitFor()
    expect(await page.evaluate('window.sameDocument')).toBe(true)
    expect(await barriers()).toEqual([])
  })

  test('shows what is said elsewhere, and is the same after a reload', async () => {
    const key = await startSession()
    await fetch(`${url}/v1/sessions/${key}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'from another app' }),
    })
    await messages().getByText('from another app', { exact: true }).waitFor()
    await messages().getByText('You said: “from another app”').waitFor()
    await page.reload()
    await messages().getByText('You said: “from another app”').waitFor()
  })

  test('marks what the agent says unasked', async () => {
    const key = await startSession()
    await say('wake up soon')
    await corridor()
      .getByText(/fires in \d+ s/)
      .waitFor()
    await fetch(`${url}/v1/sessions/${key}/timers/check-in`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ delay_seconds: 1 }),
    })
    await messages().getByText('Still with me?').waitFor()
    await messages().getByText('unasked, after follow-up timer “check-in”').waitFor()
    await corridor().getByText('Gate let through: unanswered message 1 of 3').waitFor()
    await corridor().getByText('cooling down', { exact: true }).waitFor()
    expect(await barriers()).toEqual([])
  })

  test('can be watched without taking anything from its reader', async () => {
    const key = await startSession()
    await page.getByRole('link', { name: 'Only watch' }).click()
    await page.getByText('You are watching.').waitFor()
    await fetch(`${url}/v1/sessions/${key}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'for somebody else' }),
    })
    await corridor()
      .getByText(/Message (waiting for a reader|sent, not acknowledged yet)/)
      .waitFor()
    await page.getByRole('link', { name: 'Join' }).click()
    await corridor().getByText('Message delivered').waitFor()
  })

  test('is found in the list, and works on a narrow dark screen', async () => {
    await visit({ viewport: NARROW, colorScheme: 'dark' })
    const key = await startSession()
    await say('small')
    await messages().getByText('You said: “small”').waitFor()
    expect(await barriers()).toEqual([])
    expect(await overflow()).toBe(0)
    await page.getByRole('button', { name: 'Corridor' }).click()
    await corridor().getByText('Turn committed').waitFor()
    expect(await barriers()).toEqual([])
    expect(await overflow()).toBe(0)
    await page.getByRole('link', { name: 'Sessions' }).click()
    await page.getByRole('link', { name: key }).waitFor()
    expect(await barriers()).toEqual([])
    expect(await overflow()).toBe(0)
  })

  test('with a key that is none is refused with what to write', async () => {
    await page.goto(url)
    await page.getByLabel('Session key').fill('hello')
    await page.getByRole('button', { name: 'Open session' }).click()
    await page.getByText('This is not one.').waitFor()
    expect(page.url()).toBe(`${url}/`)
  })
})

describe('trying a phrase', () => {
  test('says what it means and when it fires', async () => {
    await page.goto(`${url}/#/try`)
    await page.getByLabel('Phrase').fill('every weekday at 8:30')
    const meaning = page.getByRole('region', { name: 'Meaning' })
    await meaning.getByText('30 8 * * 1-5', { exact: true }).waitFor()
    await meaning.getByText('Every weekday at 08:30 (Europe/Berlin)').waitFor()
    expect(await meaning.getByRole('listitem').count()).toBe(5)
    await page.getByLabel('Time zone').fill('Asia/Tokyo')
    await meaning.getByText('(Asia/Tokyo)').waitFor()
    expect(await barriers()).toEqual([])
  })

  test('offers phrases that work for one that does not', async () => {
    await page.goto(`${url}/#/try`)
    await page.getByLabel('Phrase').fill('evry weekday at 8:30')
    const refused = page.getByRole('alert')
    await refused.getByText('"evry" is not understood here').waitFor()
    expect(await barriers()).toEqual([])
    await refused.getByRole('button', { name: 'every weekday at 08:30' }).click()
    await page.getByText('30 8 * * 1-5', { exact: true }).waitFor()
  })
})

test('health is shown in words', async () => {
  await page.goto(`${url}/#/health`)
  await page.getByText('all well').waitFor()
  await page.getByText('embedded (PGlite)').waitFor()
  await page.getByRole('region', { name: 'Due lag' }).getByText('on time').first().waitFor()
  expect(await barriers()).toEqual([])
})
