/** Ten tasks that people come for, each with the clicks it may take, from the first page. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { agent } from '../../src/index.ts'
import { call, countClicks, outcomeOf, say, schedule, WIDE } from './call.ts'
import { openStage, type Stage, type Visit } from './stage.ts'

const broken = { is: true }
/** Fails until it is mended. */
const scout = agent((turn) => {
  if (broken.is) throw new TypeError('the price service answered 500')
  turn.say('Tea is cheap today.')
})
const careful = agent((turn) => {
  const { text, question } = turn.event.payload as { text?: string; question?: { answer: string } }
  if (question !== undefined) turn.say(`You said ${question.answer}.`)
  else if (text === 'send it') turn.ask('Send it to everybody?', { options: ['Send', 'Keep'] })
  else turn.say(`Heard: ${text ?? turn.event.type}`)
})

let stage: Stage
let visit: Visit
let page: Page
let clicks: () => Promise<number>

beforeAll(async () => {
  stage = await openStage({ agents: { careful, scout } })
  const mine = { user_id: 'ann', agent_id: 'careful', timezone: 'Europe/Berlin' }
  await schedule(stage, 'Stand-up', { ...mine, every: 'every day at 23:59', note: 'Stand up' })
  await say(stage, 'ann:careful:main', 'hello')
  await call(stage, 'PUT', 'people/ann', { timezone: 'Europe/Berlin' })
})
afterAll(() => stage?.close())
beforeEach(async () => {
  visit = await stage.visit({ viewport: WIDE })
  page = visit.page
  await page.goto(stage.url)
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  clicks = await countClicks(page)
})
afterEach(async () => {
  await visit.close()
  expect(visit.complaints.filter((text) => !/status of 400 /.test(text))).toEqual([])
  expect(visit.strangers).toEqual([])
})

const button = (name: string) => page.getByRole('button', { name, exact: true })
const link = (name: string) => page.getByRole('link', { name, exact: true })
const region = (name: string) => page.getByRole('region', { name, exact: true })
const go = (name: string) =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click()

test('1. a reminder failed: its reason is on Home, and one click retries it', async () => {
  broken.is = true
  await schedule(stage, 'Price of tea', {
    ...{ in: 0, note: 'Look', user_id: 'bea', agent_id: 'scout' },
  })
  await outcomeOf(stage, 'bea', 'failed')
  const failures = region('Failures')
  await failures.getByText('the price service answered 500').waitFor()
  broken.is = false
  await button('Retry Price of tea').click()
  await outcomeOf(stage, 'bea', 'sent')
  await failures.waitFor({ state: 'detached' })
  expect(await clicks()).toBe(1)
})

test('2. everything about one person is one page', async () => {
  await go('People')
  await link('ann').click()
  await page.getByRole('list', { name: 'Next' }).getByText('Stand-up').waitFor()
  await page.getByRole('list', { name: 'Sessions' }).getByText('careful:main').waitFor()
  for (const name of ['Last', 'Channels', 'Preferences', 'Deferred', 'Pause'])
    await region(name).waitFor()
  expect(await clicks()).toBe(2)
})

test('3. why it wrote at nine is two clicks away', async () => {
  await schedule(stage, 'Nine', { in: 0, note: 'Nine', user_id: 'cat', agent_id: 'careful' })
  await outcomeOf(stage, 'cat', 'sent')
  await go('Activity')
  await link('Nine').click()
  const steps = page.getByRole('list', { name: 'Steps' })
  await steps.getByText('Was due').waitFor()
  await steps.getByText(/The agent ran for/).waitFor()
  await steps.getByText('The gate let through: it was promised').waitFor()
  await region('Message').getByText('Heard: alarm').first().waitFor()
  expect(await clicks()).toBe(2)
  // The same address shows it again.
  await page.reload()
  await page.getByRole('heading', { name: 'Nine' }).waitFor()
})

test('4. an agent is stopped on its own page, and the banner says so everywhere', async () => {
  await go('Agents')
  await link('scout').click()
  await button('Stop scout').click()
  await region('Stopped').getByText('Stopped: agent scout').waitFor()
  expect(await clicks()).toBe(3)
  for (const name of ['Home', 'Schedule', 'System']) {
    await go(name)
    await region('Stopped').getByText('Stopped: agent scout').waitFor()
  }
  await button('Resume agent scout').click()
  await region('Stopped').waitFor({ state: 'detached' })
})

test('5. an alarm is set from a phrase that is previewed', async () => {
  await button('New').click()
  await page.getByLabel('For', { exact: true }).fill('dan')
  await page.getByLabel('Agent', { exact: true }).last().selectOption('careful')
  await page.getByLabel('When', { exact: true }).fill('every weekday at 8:30')
  await region('Meaning').getByText('Every weekday at 08:30').waitFor()
  await page.getByLabel('Instructions for the agent').fill('Plan the day')
  await button('Create schedule').click()
  const drawer = page.getByRole('dialog', { name: 'Plan the day' })
  await drawer.getByText('every weekday at 08:30').first().waitFor()
  await drawer.getByText('dan', { exact: true }).waitFor()
  expect(await clicks()).toBeLessThanOrEqual(3)
})

test('6. the next two weeks are forecast, with progress', async () => {
  await go('Schedule')
  await button('Forecast 14 days').click()
  await region('Forecast').getByText('The next 14 days').waitFor()
  await page.getByRole('listitem').filter({ hasText: 'Stand-up' }).first().waitFor()
  expect(await clicks()).toBe(2)
})

test('7. health, lag and throughput are one page, and Home says the same', async () => {
  const strip = page.getByRole('main').getByRole('link', { name: /On time/ })
  const told = (await strip.textContent()) ?? ''
  await go('System')
  const now = page.locator('dl[aria-label=Now]')
  await now.getByText('On time').waitFor()
  expect(told).toContain('On time')
  await region('Throughput and lag, 24 hours').waitFor()
  expect(await clicks()).toBe(1)
})

test('8. what happens today is on the first page', async () => {
  const today = region('Today')
  await today.getByText('Stand-up').waitFor()
  expect(await clicks()).toBe(0)
})

test('9. an open question is answered for its person, after asking', async () => {
  await say(stage, 'eve:careful:mail', 'send it')
  await region('Open questions').getByText('Send it to everybody?').waitFor()
  await button('Keep').click()
  await button('Answer “Keep”').click()
  await region('Open questions').waitFor({ state: 'detached' })
  expect(await clicks()).toBe(2)
})

test('10. a conversation is found by a few letters, with the keyboard alone', async () => {
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: /^Search/ }).fill('ann:careful')
  await page.getByRole('option', { name: 'ann:careful:main' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByText('Heard: hello').first().waitFor()
  expect(page.url()).toBe(`${stage.url}/#/sessions/ann:careful:main`)
  expect(await clicks()).toBe(0)
})
