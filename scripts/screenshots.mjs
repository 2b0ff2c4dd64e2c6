/**
 * Makes the pictures of the README from the running product: `node --import tsx scripts/screenshots.mjs`. Starts the built
 * server on a store of its own, lets somebody talk to the demo agent, and looks at it with the browser of the tests.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { launchBrowser } from '../test/console/browser.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const IMAGES = process.argv[2] ?? join(ROOT, 'docs/images')
const BYTES_MAX = 300 * 1024
const WAIT_MS = 60_000
const WIDE = { width: 1440, height: 900 }
const NARROW = { width: 380, height: 800 }
const KEY = 'ann:companion:first'
const QUIET_KEY = 'ben:companion:first'

const directory = mkdtempSync(join(tmpdir(), 'wakeful-shots-'))
const server = await startServer()
const browser = await launchBrowser()
try {
  await live(server.url)
  mkdirSync(IMAGES, { recursive: true })
  await shoot('conversation', `/sessions/${KEY}`, { viewport: WIDE, colorScheme: 'dark' })
  await shoot('gate', `/sessions/${QUIET_KEY}`, { viewport: NARROW, colorScheme: 'light' })
  // Last, when what was said has been delivered to the pages above.
  await shoot('now', '/', { viewport: WIDE, colorScheme: 'light' }, (page) =>
    page.getByText('Day', { exact: true }).click(),
  )
} finally {
  await browser.close()
  await server.stop()
  rmSync(directory, { recursive: true, force: true })
}

async function startServer() {
  const env = {
    ...process.env,
    DATABASE_URL: `pglite:${join(directory, 'data')}`,
    WAKEFUL_FILES: join(directory, 'files'),
    PORT: '0',
    LOG_LEVEL: 'error',
    AUTONOMY_COOLDOWN_MS: '1000',
  }
  const child = spawn(process.execPath, [join(ROOT, 'dist/cli/bin.js'), 'serve'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((done) => child.once('exit', done))
  let said = ''
  const url = await new Promise((done, fail) => {
    ended.then((code) =>
      fail(new Error(`the server ended with ${code}: is it built? npm run build`)),
    )
    child.stdout.on('data', (chunk) => {
      said += chunk
      const found = /listening on (\S+)/.exec(said)?.[1]
      if (found !== undefined) done(found)
    })
  })
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  await until('the server is ready', async () => (await fetch(`${url}/readyz`)).ok)
  return { url, stop }
}

/** Ann plans things and is reminded; Ben stays silent until the gate closes. */
async function live(url) {
  for (const text of [
    'remind me in 10 seconds to stretch',
    'every weekday at 8:30 plan the day',
    'tell me when NVDA is below 130',
    'report daily at 6pm',
    'what is planned?',
  ]) {
    await say(url, KEY, text)
  }
  await send(url, 'POST', '/v1/signals', { kind: 'price', ticker: 'NVDA', price: 128.4 })
  await say(url, QUIET_KEY, 'hello')
  for (let nudge = 1; nudge <= 4; nudge++) {
    await until(`${nudge} turns are done`, async () => {
      const { done_seq } = await read(url, `/v1/sessions/${QUIET_KEY}`)
      return done_seq === nudge
    })
    await send(url, 'PUT', `/v1/sessions/${QUIET_KEY}/timers/check-in`, { delay_seconds: 1.2 })
  }
  await until('the gate has closed', async () => {
    const { data } = await read(url, `/v1/sessions/${QUIET_KEY}/turns`)
    return data.some(({ verdicts }) => verdicts.some(({ allowed }) => !allowed))
  })
  await until('Ann was reminded', async () => {
    const { data } = await read(url, `/v1/sessions/${KEY}/effects`)
    return data.some(({ payload }) => payload.content === 'Reminder: stretch')
  })
}

async function say(url, key, text) {
  const { event } = await send(url, 'POST', `/v1/sessions/${key}/messages`, { text })
  await until(`“${text}” was answered`, async () => {
    const { done_seq } = await read(url, `/v1/sessions/${key}`)
    return done_seq >= event.seq
  })
}

async function send(url, method, path, body) {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

async function read(url, path) {
  return (await fetch(`${url}${path}`)).json()
}

async function until(what, holds) {
  for (let waited = 0; waited < WAIT_MS; waited += 100) {
    if (await holds()) return
    await new Promise((done) => setTimeout(done, 100))
  }
  throw new Error(`waited in vain until ${what}`)
}

async function shoot(name, address, options, prepare = async () => {}) {
  const context = await browser.newContext({ timezoneId: 'Europe/Berlin', ...options })
  await context.addInitScript(`localStorage.setItem('wakeful.tour', 'closed')`)
  const page = await context.newPage()
  await page.goto(`${server.url}/#${address}`)
  await page.waitForLoadState('networkidle').catch((error) => {
    // Pages that listen on a socket are never idle for long; what is there after the wait is shown.
    if (error.name !== 'TimeoutError') throw error
  })
  await prepare(page)
  await page.waitForTimeout(1500)
  const path = join(IMAGES, `${name}.png`)
  await page.screenshot({ path })
  await context.close()
  const bytes = statSync(path).size
  if (bytes > BYTES_MAX) throw new Error(`${path} has ${bytes} bytes, more than ${BYTES_MAX}`)
  process.stdout.write(`${path} ${Math.round(bytes / 1024)} kB\n`)
}
