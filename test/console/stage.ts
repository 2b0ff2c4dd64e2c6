/** The stage of a browser test: a server with the demo agent, a browser, and one page that is watched. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { companion, openApp, type WakefulOptions } from '../../src/index.ts'
import type { Db } from '../../src/store/db.ts'
import { launchBrowser } from './browser.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** For what never comes. */
const WAIT_MS = 40_000

export interface Visit {
  readonly page: Page
  /** What the browser complained about. */
  readonly complaints: readonly string[]
  /** Addresses outside of our server that were asked for something. */
  readonly strangers: readonly string[]
  close(): Promise<void>
}

type VisitOptions = Parameters<Browser['newContext']>[0]

export interface Stage {
  readonly url: string
  /** Straight to the store: for more rows than requests would make in time. */
  readonly query: Db['query']
  visit(options?: VisitOptions): Promise<Visit>
  close(): Promise<void>
}

export async function openStage(
  more: Partial<Pick<WakefulOptions, 'work' | 'agents' | 'env'>> = {},
): Promise<Stage> {
  if (!existsSync(`${ROOT}/dist/console/index.html`)) buildConsole()
  const env = { LOG_LEVEL: 'silent', PORT: '0', ...more.env }
  const app = await openApp({ database: 'memory:', agents: { companion }, ...more, env })
  try {
    const browser = await launchBrowser()
    const url = await app.listen()
    await app.start()
    return {
      url,
      query: (text, values) => app.store.db.query(text, values),
      visit: async (options = {}) => {
        // Without fading in: what arrives while it is judged would have less contrast than it will have.
        const context = await browser.newContext({
          timezoneId: 'Europe/Berlin',
          reducedMotion: 'reduce',
          ...options,
        })
        return watched(context, url)
      },
      async close() {
        await browser.close()
        await app.stop()
      },
    }
  } catch (error) {
    await app.stop()
    throw error
  }
}

function buildConsole(): void {
  const { status, stdout, stderr } = spawnSync('npm', ['run', 'build', '-w', 'packages/console'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the console could not be built\n${stdout}${stderr}`)
}

async function watched(context: BrowserContext, url: string): Promise<Visit> {
  const complaints: string[] = []
  const strangers: string[] = []
  context.setDefaultTimeout(WAIT_MS)
  const page = await context.newPage()
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    const { url: from } = message.location()
    // A refused phrase is a 400, and the browser reports every one of those.
    if (message.type() === 'error' && !from.endsWith('/v1/schedules/preview'))
      complaints.push(`${message.text()} ${from}`)
  })
  const note = (address: string) => {
    if (new URL(address).host !== new URL(url).host) strangers.push(address)
  }
  page.on('request', (request) => note(request.url()))
  page.on('websocket', (socket) => note(socket.url()))
  return { page, complaints, strangers, close: () => context.close() }
}

/** Everything that axe finds wrong, however small. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const found = (await page.evaluate('axe.run()')) as {
    violations: { id: string; nodes: { html: string }[] }[]
  }
  return found.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`,
  )
}

/** By how many pixels the page is wider than its window. */
export async function overflow(page: Page): Promise<number> {
  const width = await page.evaluate('document.documentElement.scrollWidth')
  return Math.max(0, Number(width) - (page.viewportSize()?.width ?? 0))
}
