/** A session in a real browser, by somebody who acts as its person, against a real server with the demo agent. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { call, NARROW, WIDE } from './call.ts'
import { barriers, openStage, overflow, type Stage, type Visit } from './stage.ts'

let stage: Stage
let visit: Visit
let page: Page

beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.close())
beforeEach(() => enter({ viewport: WIDE }))
afterEach(leave)

async function enter(options: Parameters<Stage['visit']>[0]): Promise<void> {
  visit = await stage.visit(options)
  page = visit.page
}

async function leave(): Promise<void> {
  await visit.close()
  expect(visit.complaints).toEqual([])
  expect(visit.strangers).toEqual([])
}

const record = () => page.getByRole('region', { name: 'Record' })
const messages = () => page.getByRole('log', { name: 'Messages' })
const timer = (key: string) =>
  call(stage, 'PUT', `sessions/${key}/timers/check-in`, { delay_seconds: 1 })

async function startSession(): Promise<string> {
  await page.goto(`${stage.url}/#/agents/companion`)
  await page.getByRole('button', { name: 'Chat as local' }).click()
  await page.getByText('Nothing was said yet').waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  const [, key = ''] = /#\/sessions\/([^?]+)/.exec(page.url()) ?? []
  return key
}

async function write(text: string): Promise<void> {
  await page.getByLabel('Message to the agent').fill(text)
  await page.keyboard.press('Enter')
}

test('is started, answers live, and shows what led to the answer', async () => {
  const key = await startSession()
  expect(key).toMatch(/^local:companion:[a-z0-9]{6}$/)
  expect(await barriers(page)).toEqual([])
  // A reload would lose this mark.
  await page.evaluate('window.sameDocument = true')
  await write('Hello from a browser')
  await messages().getByText('You said: “Hello from a browser”').waitFor()
  await record().getByText('Answer delivered').waitFor()
  await record().getByText('Turn committed').waitFor()
  await record()
    .getByText(/fires in \d+ s/)
    .waitFor()
  await record().getByText('The agent may write on its own.').waitFor()
  expect(await page.evaluate('window.sameDocument')).toBe(true)
  expect(await barriers(page)).toEqual([])
})

test('shows what is said elsewhere, and is the same after a reload', async () => {
  const key = await startSession()
  await call(stage, 'POST', `sessions/${key}/messages`, { text: 'from another app' })
  await messages().getByText('from another app', { exact: true }).waitFor()
  await messages().getByText('You said: “from another app”').waitFor()
  await page.reload()
  await messages().getByText('You said: “from another app”').waitFor()
})

test('marks what the agent says unprompted, and what it was not let say', async () => {
  const key = await startSession()
  await write('wake up soon')
  await record()
    .getByText(/fires in \d+ s/)
    .waitFor()
  await timer(key)
  await messages().getByText('Still with me?').waitFor()
  await messages().getByText('follow-up, after timer “check-in”').waitFor()
  await record().getByText('Gate let through: unanswered follow-up 1 of 3').waitFor()
  await record().getByText('cooling down', { exact: true }).waitFor()
  await timer(key)
  await messages().getByText('A follow-up was held back: cooling down until').waitFor()
  await record().getByText('Gate held back: cooling down until').waitFor()
  expect(await barriers(page)).toEqual([])
})

test('is found on its person’s page, and works on a narrow dark screen', async () => {
  await leave()
  await enter({ viewport: NARROW, colorScheme: 'dark' })
  const key = await startSession()
  await write('small')
  await messages().getByText('You said: “small”').waitFor()
  expect(await barriers(page)).toEqual([])
  expect(await overflow(page)).toBe(0)
  await page.getByRole('button', { name: 'Record' }).click()
  await record().getByText('Turn committed').waitFor()
  expect(await barriers(page)).toEqual([])
  expect(await overflow(page)).toBe(0)
  await page.goto(`${stage.url}/#/people/local`)
  await page.getByRole('link', { name: key.slice('local:'.length) }).waitFor()
})

test('with a key that is none is refused with what to write', async () => {
  await page.goto(`${stage.url}/#/sessions/hello`)
  await page.getByText('This is no session’s key.').waitFor()
})
