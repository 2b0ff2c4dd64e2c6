/** The first screen of an empty install, its tour, and the demo agent as a stranger meets it: three unanswered follow-ups, the gate, and why. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { barriers, openStage, overflow, type Stage, type Visit } from './stage.ts'

const WIDE = { width: 1440, height: 900 }
const NARROW = { width: 380, height: 800 }
let stage: Stage
let visit: Visit
let page: Page

beforeAll(async () => {
  // The demo waits 20 s before each check-in; the tests bring its timer forward, so that no cooldown may stand between.
  stage = await openStage({ env: { AUTONOMY_COOLDOWN_MS: '1' } })
})
afterAll(() => stage?.close())
afterEach(async () => {
  await visit.close()
  expect(visit.complaints).toEqual([])
  expect(visit.strangers).toEqual([])
})

async function enter(options: Parameters<Stage['visit']>[0]): Promise<void> {
  visit = await stage.visit(options)
  page = visit.page
  // These tests are about the way there, not about what the pages tell of the past.
  await page.route('**/v1/ledger*', (route) =>
    route.fulfill({ json: { data: [], next_cursor: null } }),
  )
}

/** By the palette: the first screen is only for an empty install. */
async function begin(): Promise<void> {
  await page.goto(stage.url)
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('option', { name: 'Start the demo conversation' }).click()
}

const tour = () => page.getByRole('region', { name: 'Tour' })
const messages = () => page.getByRole('log', { name: 'Messages' })

test('leads through five steps by keyboard, remembers where it was, and stays closed', async () => {
  await enter({ viewport: WIDE })
  await page.goto(stage.url)
  await page.getByText('Your agents can now speak first').first().waitFor()
  await page.getByRole('img', { name: /^The loop/ }).waitFor()
  expect(await barriers(page)).toEqual([])
  await page.getByRole('button', { name: 'Start the demo conversation' }).click()
  await tour().getByText('It writes first').waitFor()
  await tour().getByText('remind me in 10 seconds to stretch').waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  expect(await barriers(page)).toEqual([])
  for (const title of ['It stops by itself', 'It watches conditions']) {
    await tour().getByRole('button', { name: 'Next' }).press('Enter')
    // The heading has the focus, so that the step is read out.
    await tour().locator('h2:focus', { hasText: title }).waitFor()
  }
  await page.reload()
  await tour().getByText('It watches conditions').waitFor()
  await tour().getByRole('button', { name: 'Back' }).click()
  await tour().getByText('It stops by itself').waitFor()
  for (let step = 0; step < 3; step++) await tour().getByRole('button', { name: 'Next' }).click()
  await tour().getByText('It can say why').waitFor()
  await tour().getByRole('button', { name: 'Show the reasons' }).click()
  expect(page.url()).toContain('#/activity')
  await tour().getByRole('button', { name: 'Done' }).click()
  expect(await tour().count()).toBe(0)
  await page.reload()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  expect(await tour().count()).toBe(0)
  // Nobody has spoken in its conversation: after a reload it is not found, which the browser reports.
  const { complaints } = visit
  visit = { ...visit, complaints: complaints.filter((text) => !/status of 404 /.test(text)) }
})

test('writes its sentences into one conversation, plays the market, and never hides what is to be typed', async () => {
  await enter({ viewport: WIDE })
  await begin()
  const composer = page.getByLabel('Message to the agent')
  await expect.poll(() => composer.inputValue()).toBe('remind me in 10 seconds to stretch')
  expect(await page.evaluate('document.activeElement.id')).toBe('composer')
  // Whoever types it by hand does not write it twice.
  await page.keyboard.type('hello')
  expect(await composer.inputValue()).toBe('hello')
  // Tour and conversation are in sight together.
  expect(await page.evaluate('document.documentElement.scrollHeight - innerHeight')).toBe(0)
  const address = page.url()
  await tour().getByRole('button', { name: 'Next' }).click()
  await tour().getByRole('button', { name: 'Next' }).click()
  await page.getByRole('link', { name: 'Schedule' }).first().click()
  await tour().getByRole('button', { name: 'Write it' }).click()
  expect(page.url()).toBe(address)
  await expect.poll(() => composer.inputValue()).toBe('tell me when NVDA is below 130')
  await page.keyboard.press('Enter')
  await messages().getByText('I will tell you the first time NVDA is below 130.').waitFor()
  await tour().getByRole('button', { name: 'Let NVDA fall to 128' }).click()
  await messages().getByText('NVDA is at 128, below the 130 you named.').waitFor()
  await messages().getByText('promise, after standing intent “NVDA is below 130”').waitFor()
  expect(await barriers(page)).toEqual([])
})

test('fits a narrow screen, closes with Escape, and opens a conversation', async () => {
  await enter({ viewport: NARROW, colorScheme: 'dark' })
  await begin()
  await page.getByLabel('Message to the agent').waitFor()
  expect(page.url()).toMatch(/#\/sessions\/local:companion:[a-z0-9]{6}\?act=1$/)
  expect(await barriers(page)).toEqual([])
  expect(await overflow(page)).toBe(0)
  await tour().getByRole('button', { name: 'Next' }).focus()
  await page.keyboard.press('Escape')
  expect(await tour().count()).toBe(0)
})

test('three unanswered follow-ups, then the gate, explained by the page and by the agent', async () => {
  await enter({ viewport: WIDE })
  const key = 'local:companion:gate'
  await send('POST', `${key}/messages`, { text: 'good morning' })
  await page.goto(`${stage.url}/#/sessions/${key}?act=1`)
  const say = async (text: string) => {
    await page.getByLabel('Message to the agent').fill(text)
    await page.keyboard.press('Enter')
  }
  await say('hello')
  const lines = ['Still with me?', 'Just checking in', 'I will be here when you need me']
  for (const [index, line] of lines.entries()) {
    await hurry(key)
    await messages().getByText(line).waitFor()
    await page.getByText(`Gate let through: unanswered follow-up ${index + 1} of 3`).waitFor()
  }
  await hurry(key)
  await messages().getByText('held back: 3 unanswered follow-ups in a row, cap 3').waitFor()
  expect(await barriers(page)).toEqual([])
  await say("why didn't you write?")
  await messages().getByText('3 is the most I may send').waitFor()
})

/** Brings the next check-in forward, once it is there. */
async function hurry(key: string): Promise<void> {
  const timers = `${stage.url}/v1/sessions/${key}/timers`
  await expect
    .poll(
      async () =>
        ((await (await fetch(`${timers}?status=pending`)).json()) as { data: object[] }).data
          .length,
    )
    .toBe(1)
  await send('PUT', `${key}/timers/check-in`, { delay_seconds: 0 })
}

async function send(method: string, path: string, body: object): Promise<void> {
  const answer = await fetch(`${stage.url}/v1/sessions/${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(answer.ok).toBe(true)
}
