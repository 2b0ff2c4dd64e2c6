/** Faults that people ran into, each looked for in a real browser. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { agent, companion } from '../../src/index.ts'
import { call, outcomeOf, say, schedule, WIDE } from './call.ts'
import { openStage, type Stage, type Visit } from './stage.ts'

const TABLE = '| market | change |\n| --- | --- |\n| Mombasa | -4 % |'

const helper = agent((turn) => {
  const { text, question } = turn.event.payload as { text?: string; question?: object }
  if (text === 'table') turn.say(TABLE)
  else if (text === 'ask') turn.ask('Send it?', { options: ['Yes', 'No'] })
  else if (question === undefined) turn.say(`Heard: ${text ?? turn.event.type}`)
})
const broken = () => Promise.reject(new TypeError('no paper'))
const flaky = agent(() => {
  throw new TypeError('no answer from the shop')
})

let stage: Stage
let visit: Visit
let page: Page

beforeAll(async () => {
  stage = await openStage({ agents: { companion, flaky, helper }, work: { broken } })
})
afterAll(() => stage?.close())
beforeEach(async () => {
  visit = await stage.visit({ viewport: WIDE })
  page = visit.page
})
afterEach(async () => {
  await visit.close()
  expect(visit.complaints).toEqual([])
  expect(visit.strangers).toEqual([])
})

const region = (name: string) => page.getByRole('region', { name, exact: true })
const go = (path: string) => page.goto(`${stage.url}/#${path}`)

async function effectsOf(key: string) {
  const { data } = await call<{ data: { status: string }[] }>(
    stage,
    'GET',
    `sessions/${key}/effects`,
  )
  return data.map(({ status }) => status)
}

test('1. looking at a session acknowledges nothing; acting as its person is marked', async () => {
  const key = 'ann:helper:main'
  await say(stage, key, 'hello')
  await expect.poll(() => effectsOf(key)).toEqual(['pending'])
  await go(`/sessions/${key}`)
  await page.getByText('You are watching.').waitFor()
  await page.getByText('Heard: hello').first().waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  expect(await page.getByLabel('Message to the agent').count()).toBe(0)
  // Also what comes while one watches.
  await say(stage, key, 'again')
  await page.getByText('Heard: again').first().waitFor()
  expect(await effectsOf(key)).toEqual(['pending', 'pending'])
  await page.getByRole('link', { name: 'Act as ann' }).click()
  await page.getByText('You act as ann.').waitFor()
  await expect.poll(() => effectsOf(key)).toEqual(['completed', 'completed'])
  await page.getByLabel('Message to the agent').fill('as ann')
  await page.keyboard.press('Enter')
  await page.getByText('Heard: as ann').first().waitFor()
  await go('/system/audit')
  for (const operation of ['create_ticket', 'post_message'])
    await page
      .getByRole('row')
      .filter({ hasText: operation })
      .getByText('acting for')
      .first()
      .waitFor()
})

test('2. a failure stays on Home until it is dismissed, and then for good', async () => {
  await schedule(stage, 'Order tea', { in: 0, note: 'x', user_id: 'bea', agent_id: 'flaky' })
  const id = await outcomeOf(stage, 'bea', 'failed')
  // An hour is more than the quarter of an hour after which it once was gone.
  const { at } = await call<{ at: string }>(stage, 'GET', `ledger/${id}`)
  await page.clock.install({ time: Date.parse(at) + 3_600_000 })
  await go('/')
  await region('Failures').getByText('Order tea').waitFor()
  await page.getByRole('button', { name: 'Dismiss Order tea' }).click()
  await region('Failures').waitFor({ state: 'detached' })
  const { dismissed } = await call<{ dismissed?: { by: string } }>(stage, 'GET', `ledger/${id}`)
  expect(dismissed?.by).toBe('admin')
})

test('3. with everything stopped, every page and the session say so', async () => {
  const stop = await call<{ id: string }>(stage, 'POST', 'stops', {
    ...{ level: 'everything', reason: 'a bad release' },
  })
  try {
    await say(stage, 'cat:helper:main', 'are you there?')
    for (const path of ['/', '/schedule', '/activity', '/people', '/agents', '/system']) {
      await go(path)
      await region('Stopped').getByText('Everything is stopped').waitFor()
      await region('Stopped').getByText('a bad release').waitFor()
    }
    await go('/sessions/cat:helper:main')
    await page.getByText('Stopped: this waits until it is resumed.').waitFor()
    expect(await page.getByText('The agent is working').count()).toBe(0)
    await region('May it follow up?').getByText('stopped', { exact: true }).waitFor()
  } finally {
    await call(stage, 'POST', `stops/${stop.id}/resume`, {})
  }
  await page.getByText('Heard: are you there?').first().waitFor()
})

/** From an hour ago to in an hour, so that it is quiet whatever the time. */
async function quietNow(user: string): Promise<void> {
  const { now } = await call<{ now: string }>(stage, 'GET', 'overview')
  const clock = (ms: number) => new Date(Date.parse(now) + ms).toISOString().slice(11, 16)
  const quiet_hours = [{ from: clock(-3_600_000), to: clock(3_600_000) }]
  await call(stage, 'PUT', `people/${user}`, { timezone: 'UTC', quiet_hours })
}

describe('in quiet hours', () => {
  const key = 'dan:helper:main'
  beforeAll(async () => {
    await quietNow('dan')
    await say(stage, key, 'hello')
    await call(stage, 'PUT', `sessions/${key}/timers/nudge`, { delay_seconds: 0 })
    await outcomeOf(stage, 'dan', 'suppressed')
  })

  test('4. the gate says one thing: quiet hours', async () => {
    await go(`/sessions/${key}`)
    const gate = region('May it follow up?')
    await gate.getByText('quiet hours', { exact: true }).waitFor()
    expect(await gate.getByText('open', { exact: true }).count()).toBe(0)
    await page.getByText('it is not sent later').first().waitFor()
  })

  test('5. a follow-up that was dropped names no time at which it comes', async () => {
    await go('/activity?user_id=dan')
    const row = page.getByRole('row').filter({ hasText: 'nudge' })
    await row.getByText('held back', { exact: true }).waitFor()
    expect(await row.textContent()).not.toContain('comes at')
    await row.getByRole('link', { name: 'nudge' }).click()
    await page.getByRole('list', { name: 'Steps' }).waitFor()
    expect(await page.getByRole('main').textContent()).not.toContain('comes at')
  })
})

test('6. a new alarm with several agents asks for the agent in the open, and is set', async () => {
  await go('/schedule?new=1')
  const drawer = page.getByRole('dialog', { name: 'New schedule' })
  expect(await drawer.locator('details').count()).toBe(0)
  await drawer.getByLabel('Agent', { exact: true }).selectOption('helper')
  await drawer.getByLabel('When', { exact: true }).fill('in 3 days')
  await drawer.getByLabel('Instructions for the agent').fill('Renew the passport')
  await drawer.getByRole('button', { name: 'Create schedule' }).click()
  await page.getByRole('dialog', { name: 'Renew the passport' }).waitFor()
})

describe('7. lists and marks', () => {
  test('a schedule shows its person and agent, and one that fails is not called active', async () => {
    const daily = {
      every: 'every day at 23:58',
      note: 'Daily order',
      user_id: 'eve',
      agent_id: 'flaky',
    }
    await schedule(stage, 'Daily order', { ...daily, run: 'broken' })
    await call(stage, 'POST', 'schedules/Daily%20order/run?user_id=eve')
    await outcomeOf(stage, 'eve', 'failed')
    await go('/schedule?q=Daily')
    const row = page.getByRole('row').filter({ hasText: 'Daily order' })
    await row.getByRole('link', { name: 'eve' }).waitFor()
    await row.getByRole('link', { name: 'flaky' }).waitFor()
    await row.getByText('failing').waitFor()
    expect(await row.getByText('active', { exact: true }).count()).toBe(0)
  })

  test('marks of the calendar say what they are and lead there', async () => {
    await go('/schedule?view=calendar&user_id=eve')
    const mark = page.getByRole('link', { name: /Daily order/ }).first()
    expect(await mark.getAttribute('title')).toContain('Daily order, eve')
    await mark.click()
    await page.getByRole('dialog', { name: 'Daily order' }).waitFor()
    // The filters stay where they were.
    await page.getByRole('button', { name: 'Close' }).click()
  })

  test('filters are in the address, and an address brings them back', async () => {
    await go('/schedule')
    await page.getByLabel('Kind').selectOption('work')
    await page.getByLabel('Person').fill('eve')
    await expect.poll(() => page.url()).toContain('user_id=eve')
    await page.reload()
    await page.getByRole('row').filter({ hasText: 'Daily order' }).waitFor()
    expect(await page.getByLabel('Kind').inputValue()).toBe('work')
    expect(await page.getByRole('row').filter({ hasText: 'Renew' }).count()).toBe(0)
  })

  test('sessions are in the order of their last activity', async () => {
    await say(stage, 'fay:helper:first', 'one')
    await say(stage, 'fay:helper:second', 'two')
    await say(stage, 'fay:helper:first', 'three')
    await go('/people/fay')
    const list = page.getByRole('list', { name: 'Sessions' }).getByRole('link')
    await list.first().waitFor()
    expect(await list.allTextContents()).toEqual(['helper:first', 'helper:second'])
  })

  test('tables of agents are drawn as tables, and answering for somebody is asked about', async () => {
    await say(stage, 'gus:helper:main', 'table')
    await say(stage, 'gus:helper:main', 'ask')
    await go('/sessions/gus:helper:main')
    await page.getByRole('log').getByRole('cell', { name: 'Mombasa' }).waitFor()
    await page.getByRole('button', { name: 'Yes', exact: true }).click()
    const asked = page.getByRole('dialog', { name: 'Answer “Yes” for gus?' })
    await asked.getByRole('button', { name: 'Cancel' }).click()
    const { data } = await call<{ data: object[] }>(stage, 'GET', 'questions?status=open')
    expect(data).toHaveLength(1)
  })

  test('one page has one clock: the one that was chosen', async () => {
    await go('/')
    await page.getByLabel('Times in').selectOption('Asia/Tokyo')
    await go('/activity?user_id=dan')
    const row = page.getByRole('row').filter({ hasText: 'nudge' })
    await row.waitFor()
    const time = (await row.locator('time').textContent()) ?? ''
    const tokyo = new Intl.DateTimeFormat('en-GB', {
      ...{ timeZone: 'Asia/Tokyo', hour: '2-digit', minute: '2-digit' },
    }).format(new Date((await row.locator('time').getAttribute('datetime')) ?? ''))
    expect(time).toContain(tokyo)
    expect(await row.getByText('Held back at').textContent()).toContain(tokyo)
    expect(await row.locator('time').getAttribute('title')).toMatch(/Asia\/Tokyo\n.*UTC/)
  })

  test('the tour and the forms are for the same person', async () => {
    await go('/schedule?new=1')
    expect(await page.getByLabel('For', { exact: true }).inputValue()).toBe('local')
    await go('/')
    await page.keyboard.press('Control+k')
    await page.getByRole('option', { name: 'Start the demo conversation' }).click()
    await expect.poll(() => page.url()).toMatch(/#\/sessions\/local:/)
  })
})

test('8. while the server is away, no page says that nothing is planned', async () => {
  await go('/')
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  await page.route('**/v1/**', (route) => route.abort())
  await page.getByRole('link', { name: 'People' }).first().click()
  await page.getByText('The server does not answer').first().waitFor()
  await page.getByRole('link', { name: 'Home' }).first().click()
  await page.getByText('The server does not answer').first().waitFor()
  expect(await page.getByText(/Nothing is planned|Nothing needs you/).count()).toBe(0)
  await page.unroute('**/v1/**')
  await page.getByText('The server does not answer').first().waitFor({ state: 'detached' })
  // The browser reports each request that failed; that is what this test is about.
  visit = { ...visit, complaints: [] }
})
