/** The pages that show the whole: Now, Why, Trends, Rules and Health, and the frame around all of them. */
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../src/agents/executor.ts'
import { newId } from '../../src/core/ids.ts'
import { barriers, openStage, overflow, type Stage, type Visit } from './stage.ts'

const WIDE = { width: 1440, height: 900 }
const NARROW = { width: 380, height: 800 }
const JS_MAX_BYTES = 200 * 1024

/** Runs until it is stopped. */
const slow: Executor = (run) => {
  run.progress(0.3, 'reading page 3')
  return new Promise((_, fail) =>
    run.signal.addEventListener('abort', () => fail(new Error('stopped'))),
  )
}

let stage: Stage
let url: string
let visit: Visit
let page: Page

beforeAll(async () => {
  stage = await openStage({ work: { slow } })
  url = stage.url
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

async function send(method: string, path: string, body: object): Promise<void> {
  const answer = await fetch(`${url}/v1/${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(answer.status, await answer.text()).toBeLessThan(300)
}

const region = (name: string) => page.getByRole('region', { name, exact: true })

/** No barrier, and nothing wider than a phone, in the dark as well. */
async function fitsNarrow(path: string, ready: string): Promise<void> {
  await leave()
  await enter({ viewport: NARROW, colorScheme: 'dark' })
  await page.goto(`${url}/#${path}`)
  await page.getByText(ready).first().waitFor()
  expect(await barriers(page)).toEqual([])
  expect(await overflow(page)).toBe(0)
}

describe('now', () => {
  test('says what to do while nothing is planned', async () => {
    await page.goto(url)
    await page.getByText('Nothing is planned for the next hour').waitFor()
    await page.getByText('curl').waitFor()
    expect(await barriers(page)).toEqual([])
  })

  test('shows an alarm come, fire and what became of it, without a reload', async () => {
    await page.goto(url)
    await page.evaluate('window.sameDocument = true')
    const alarm = {
      kind: 'once',
      wake_message: 'Stretch',
      label: 'Stretching',
      agent_id: 'companion',
    }
    await send('POST', 'alarms', { ...alarm, delay_seconds: 4, conversation_id: 'home' })
    await region('Coming up').getByText('Stretching').waitFor()
    expect(await barriers(page)).toEqual([])
    const been = region('Just happened').getByRole('listitem').filter({ hasText: 'Stretching' })
    await been.getByText('sent, not read yet').waitFor()
    await been.getByText(/on time|late/).waitFor()
    await page.locator('dl').getByText('Undelivered').waitFor()
    expect(await page.evaluate('window.sameDocument')).toBe(true)
    expect(await barriers(page)).toEqual([])
  })

  test('shows a week of what recurs, in lanes and as a table', async () => {
    const work = { task: 'Digest of the day', agent_type: 'reporting', user_id: 'ann' }
    await send('POST', 'work', { ...work, frequency: 'daily at 6pm', run_first: false })
    await page.goto(url)
    await page.getByRole('button', { name: 'Week' }).click()
    await page.getByRole('img', { name: /[7-9] to come|1\d to come/ }).waitFor()
    await page.getByText('As a table').click()
    const rows = page.getByRole('row').filter({ hasText: 'Digest of the day' })
    await rows.first().waitFor()
    expect(await rows.count()).toBeGreaterThanOrEqual(7)
    expect(await barriers(page)).toEqual([])
    await fitsNarrow('/', 'Coming up')
  })

  test('makes a message that was held back stand out, and Why and Rules say why', async () => {
    const session = 'sessions/eve:companion:home'
    await send('POST', `${session}/messages`, { text: 'hello there' })
    await send('PUT', `${session}/timers/check-in`, { delay_seconds: 1 })
    await page.goto(url)
    const check = region('Just happened').getByRole('listitem').filter({ hasText: 'check-in' })
    await check.getByText('sent, not read yet').first().waitFor()
    await send('PUT', `${session}/timers/check-in`, { delay_seconds: 1 })
    const look = region('Needs attention')
    await look.getByText('Held back at').waitFor()
    expect(await barriers(page)).toEqual([])
    await page.getByRole('link', { name: 'see why' }).click()
    await page.waitForURL(`${url}/#/why/suppressed`)
    const slot = page.getByRole('list', { name: 'Slots' }).getByRole('listitem').first()
    await slot.getByText('check-in').click()
    await slot.getByText(/The gate held back: (cooling down until|3 unanswered)/).waitFor()
    await slot.getByRole('link', { name: 'eve:companion:home' }).waitFor()
    expect(await barriers(page)).toEqual([])
    await page.getByRole('link', { name: 'Rules' }).click()
    await region('Held back in the last 7 days').getByText('check-in').first().waitFor()
    await region('Unanswered follow-ups in a row').getByText('at most 3').waitFor()
    await region('Between two of them').getByText('at least 15 s').waitFor()
    expect(await barriers(page)).toEqual([])
    await fitsNarrow('/rules', 'check-in')
    await fitsNarrow('/why', 'check-in')
  })
})

describe('why', () => {
  test('filters by person, trigger, outcome and time', async () => {
    await send('POST', 'alarms', {
      ...{ kind: 'once', wake_message: 'Tea', label: 'Tea time', agent_id: 'companion' },
      ...{ delay_seconds: 1, conversation_id: 'tea' },
    })
    await page.goto(`${url}/#/why`)
    const slots = page.getByRole('list', { name: 'Slots' })
    await slots.getByText('Tea time').waitFor()
    await page.getByLabel('Person').fill('local')
    await slots.getByText('Tea time').waitFor()
    await page.getByLabel('Trigger').selectOption('intent')
    await page.getByText('Nothing of this kind').waitFor()
    await page.getByLabel('Trigger').selectOption('alarm')
    await slots.getByText('Tea time').waitFor()
    await page.getByLabel('Person').fill('nobody')
    await page.getByText('Nothing of this kind').waitFor()
    await page.getByLabel('Person').fill('local')
    await slots.getByText('Tea time').waitFor()
    await page.getByLabel('Outcome').selectOption('failed')
    await page.getByText('Nothing of this kind').waitFor()
    await page.getByLabel('Outcome').selectOption('')
    await page.getByLabel('When').selectOption('own')
    await page.getByLabel('To', { exact: true }).fill('2020-01-01T00:00')
    await page.getByText('Nothing of this kind').waitFor()
    expect(await barriers(page)).toEqual([])
  })
})

test('trends plot what came due, what was held back by which rule, and how far work is', async () => {
  await send('POST', 'work', { task: 'A long run', agent_type: 'slow', user_id: 'ann' })
  const id = '7f6b7c1e-0000-4000-8000-000000000001'
  await stage.query(
    `insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, created_at)
     values (7, 'fay:companion:t', 1, $1, 'timer', '{"timer_id":"check-in"}', $1, now(), now())`,
    [id],
  )
  await stage.query(
    `insert into wakeful.attempts (bucket, session_key, event_seq, event_id, attempt, status, started_at, finished_at, verdicts)
     values (7, 'fay:companion:t', 1, $1, 1, 'committed', now(), now(), '[{"allowed":false,"rule":"cooldown_active"}]')`,
    [id],
  )
  await page.goto(`${url}/#/trends`)
  const due = region('The last 24 hours')
  await due
    .getByText(/\d+ came due/)
    .first()
    .waitFor()
  await due.getByRole('img', { name: /What came due in each hour/ }).waitFor()
  await due.getByText('As a table').click()
  await due.getByRole('columnheader', { name: 'Latest' }).waitFor()
  const held = region('Held back in the last 7 days')
  await held.locator('figcaption').getByText('too soon after another').waitFor()
  const run = region('Work that runs now')
  await run.getByRole('progressbar', { name: 'Progress of A long run' }).waitFor()
  await run.getByText('reading page 3').waitFor()
  expect(await barriers(page)).toEqual([])
  await fitsNarrow('/trends', 'A long run')
})

test('health shows who outside is told of what, and ends it', async () => {
  await stage.query(
    `insert into wakeful.subscriptions (bucket, id, user_id, principal, name, arguments, url, secret, cursor, created_at, updated_at)
     values (1, $1, 'ann', 'ann', 'alarm.due', '{"label":"tea"}', 'https://there.example/secret-path', 'planted', '', $2, $2)`,
    [newId(), new Date('2026-01-01T00:00:00Z')],
  )
  await page.goto(`${url}/#/health`)
  await page.getByText('there.example').waitFor()
  await page.getByText('label tea').waitFor()
  expect(await page.content()).not.toMatch(/planted|secret-path/)
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('button', { name: 'Delete subscription' }).click()
  await page.getByText('there.example').waitFor({ state: 'detached' })
})

test('health tells of the server, what waits, and where facts come from', async () => {
  await page.goto(`${url}/#/health`)
  await region('Server').getByText('all well').waitFor()
  await region('Waiting').getByText('Messages for their reader').waitFor()
  await region('Sources of facts').getByText('None is configured').waitFor()
  await region('Due lag').getByText('on time').first().waitFor()
  expect(await barriers(page)).toEqual([])
  await fitsNarrow('/health', 'all well')
})

describe('the frame', () => {
  test('goes everywhere by keyboard', async () => {
    await page.goto(url)
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('y')
    await page.getByRole('heading', { name: 'Why' }).waitFor()
    await page.keyboard.press('/')
    expect(await page.evaluate('document.activeElement.type')).toBe('search')
    // Typed into a field, the letters are only letters.
    await page.keyboard.type('gh')
    expect(await page.getByLabel('Person').inputValue()).toBe('gh')
    await page.reload()
    await page.getByRole('heading', { name: 'Why' }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.tagName')).toBe('MAIN')
  })

  test('is light or dark as chosen, also after a reload', async () => {
    await page.goto(url)
    const scheme = () => page.evaluate('getComputedStyle(document.documentElement).colorScheme')
    const paper = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await paper()
    await page.getByLabel('Light or dark').last().selectOption('dark')
    expect(await scheme()).toBe('dark')
    expect(await paper()).not.toBe(light)
    await page.reload()
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    expect(await scheme()).toBe('dark')
    expect(await barriers(page)).toEqual([])
    await page.getByLabel('Light or dark').last().selectOption('system')
    expect(await paper()).toBe(light)
  })

  test('loads no more than 200 kB of packed JavaScript for the first page', async () => {
    const scripts: Promise<Buffer>[] = []
    page.on('response', (answer) => {
      if (answer.request().resourceType() === 'script') scripts.push(answer.body())
    })
    await page.goto(url)
    await page.getByText('Due lag').waitFor()
    const sizes = (await Promise.all(scripts)).map((body) => gzipSync(body).length)
    expect(sizes.length).toBeGreaterThan(0)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(JS_MAX_BYTES)
  })

  test('says so when the code of a page does not come, and begins anew when the server is back', async () => {
    await page.goto(url)
    await page.getByText('Due lag').waitFor()
    await page.route('**/*', (route) => route.abort())
    await page.getByRole('link', { name: 'Rules' }).click()
    await page.getByText('This page could not be loaded').waitFor()
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    await page.unroute('**/*')
    await page.getByRole('heading', { name: 'Unanswered follow-ups in a row' }).waitFor()
    // The browser reports each request that failed; that is what this test is about.
    visit = { ...visit, complaints: [] }
  })

  test('keeps what goes wrong on one page to that page', async () => {
    await page.route('**/v1/keys?*', (route) => route.fulfill({ json: { data: [null] } }))
    await page.goto(`${url}/#/keys`)
    await page.getByText('This page could not be shown').waitFor()
    await page.getByRole('link', { name: 'Rules' }).click()
    await page.getByRole('heading', { name: 'Unanswered follow-ups in a row' }).waitFor()
    await page.unroute('**/v1/keys?*')
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Make a key').waitFor()
    // The browser reports what was thrown; that is what this test is about.
    visit = { ...visit, complaints: [] }
  })

  test('leads somewhere from an address that is none', async () => {
    await page.goto(`${url}/#/nowhere`)
    await page.getByRole('link', { name: 'Go to what happens now' }).click()
    await page.getByRole('heading', { name: 'Now' }).waitFor()
  })
})
