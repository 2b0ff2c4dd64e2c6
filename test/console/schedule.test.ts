/** What one sets in the console, in a real browser: by phrase, on a condition, as work; in bulk; and found among many. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../src/index.ts'
import { call, schedule, WIDE } from './call.ts'
import { barriers, openStage, type Stage, type Visit } from './stage.ts'

const REPORT = `# Tea this week

Prices **fell** in *both* markets, see [the report](https://example.org/tea)
and <b>not bold</b>, [nor this](javascript:alert(1)).

| market | change |
| --- | --- |
| Mombasa | -4 % |

![chart](https://example.org/chart.png)
`

/** A run that waits half-way until a test lets it go on. */
const gate: { open: () => void } = { open: () => undefined }
const work: Record<string, Executor> = {
  slow: async (run) => {
    run.progress(0.4, 'Reading the news')
    await new Promise<void>((done, fail) => {
      gate.open = done
      run.signal.addEventListener('abort', () => fail(new Error('stopped')))
    })
    return { title: 'Tea report', content: REPORT }
  },
  table: async () => ({
    title: 'Table',
    content: 'A file.',
    file: { content: 'a,b\n1,2\n', format: 'csv', name: 'numbers.csv' },
  }),
}

let stage: Stage
let visit: Visit
let page: Page

beforeAll(async () => {
  stage = await openStage({ work })
})
afterAll(() => stage?.close())
beforeEach(async () => {
  visit = await stage.visit({ viewport: WIDE })
  page = visit.page
})
/** What a test has refused by the server, the browser reports too. */
afterEach(async () => {
  await visit.close()
  expect(visit.complaints.filter((text) => !/status of (400|404|422) /.test(text))).toEqual([])
  expect(visit.strangers).toEqual([])
})

const go = (path: string) => page.goto(`${stage.url}/#${path}`)
const button = (name: string) => page.getByRole('button', { name, exact: true })
const dialog = (name: string) => page.getByRole('dialog', { name })
const row = (text: string) => page.getByRole('row').filter({ hasText: text })

describe('a new schedule', () => {
  test('by a phrase is previewed, set with the keyboard alone, and seen to fire', async () => {
    await go('/schedule')
    await page.getByText('Nothing is set yet').waitFor()
    await page.evaluate('window.sameDocument = true')
    await page.keyboard.press('n')
    await dialog('New schedule').waitFor()
    await page.getByLabel('When', { exact: true }).fill('in 2 seconds')
    const meaning = page.getByRole('region', { name: 'Meaning' })
    await meaning.getByText('now').first().waitFor()
    await page.getByLabel('Instructions for the agent').fill('Stretch your legs')
    expect(await barriers(page)).toEqual([])
    await button('Create schedule').press('Enter')
    const drawer = dialog('Stretch your legs')
    await drawer.getByText('done', { exact: true }).waitFor()
    await drawer.getByRole('region', { name: 'History' }).getByText('sent, not read yet').waitFor()
    expect(await barriers(page)).toEqual([])
    await page.keyboard.press('Escape')
    await row('Stretch your legs').getByText('done', { exact: true }).waitFor()
    expect(await page.evaluate('window.sameDocument')).toBe(true)
  })

  test('that is refused says why at the field, with phrases that work', async () => {
    await go('/schedule?new=1')
    await page.getByLabel('When', { exact: true }).fill('evry weekday at 8:30')
    await page.getByRole('alert').getByText('"evry" is not understood here').waitFor()
    await button('every weekday at 08:30').click()
    const meaning = page.getByRole('region', { name: 'Meaning' })
    await meaning.getByText('30 8 * * 1-5', { exact: true }).waitFor()
    await page.getByLabel('Time zone').fill('Mars/Base')
    await page.getByText('Is not an IANA time zone').waitFor()
    expect(await barriers(page)).toEqual([])
  })

  test('on a price is made, fires with the fact that makes it true, and is paused', async () => {
    await go('/schedule?new=1')
    await button('A price').click()
    await page.getByLabel('Ticker').fill('NVDA')
    await page.getByLabel('Instructions for the agent').fill('Tell me that it fell')
    await button('Create schedule').click()
    await page.getByRole('alert').first().waitFor()
    await page.getByLabel('Price', { exact: true }).fill('130')
    await button('Create schedule').click()
    const drawer = dialog('Tell me that it fell')
    await drawer.getByText('when NVDA is < 130').waitFor()
    await call(stage, 'POST', 'signals', { kind: 'price', ticker: 'NVDA', price: 121.5 })
    await drawer.getByRole('region', { name: 'History' }).getByText('sent, not read yet').waitFor()
    await drawer.getByRole('button', { name: 'Pause' }).click()
    await drawer.getByText('paused', { exact: true }).waitFor()
    await drawer.getByRole('button', { name: 'Delete' }).click()
    await dialog('Delete this schedule?').getByRole('button', { name: 'Delete' }).click()
    await drawer.waitFor({ state: 'detached' })
    await row('Tell me that it fell').waitFor({ state: 'detached' })
  })
})

test('a schedule gets another time and other words', async () => {
  await schedule(stage, 'Walk', { every: 'every day at 7:00', note: 'walk', timezone: 'UTC' })
  await go('/schedule')
  await page.getByRole('link', { name: 'Walk', exact: true }).click()
  await button('Change').click()
  const form = page.getByRole('form', { name: 'Change' })
  await form.getByLabel('New time').fill('every day at 6:15')
  await form.getByRole('region', { name: 'Meaning' }).waitFor()
  await form.getByLabel('Instructions for the agent').fill('walk far')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.waitFor({ state: 'detached' })
  await dialog('Walk').getByText('every day at 06:15').first().waitFor()
  await dialog('Walk').getByText('walk far').waitFor()
})

test('several are paused, resumed and deleted together', async () => {
  for (const name of ['Bulk one', 'Bulk two'])
    await schedule(stage, name, { every: 'every day at 7:00', note: 'x' })
  await go('/schedule?q=Bulk')
  await row('Bulk two').waitFor()
  await page.getByLabel('Select all rows').check()
  const bar = page.getByRole('region', { name: 'Selected' })
  await bar.getByText('2 selected').waitFor()
  expect(await barriers(page)).toEqual([])
  await bar.getByRole('button', { name: 'Pause' }).click()
  for (const name of ['Bulk one', 'Bulk two'])
    await row(name).getByText('paused', { exact: true }).waitFor()
  await page.getByLabel('Select Bulk one').check()
  await bar.getByRole('button', { name: 'Resume' }).click()
  await row('Bulk one').getByText('active', { exact: true }).waitFor()
  await row('Bulk two').getByText('paused', { exact: true }).waitFor()
  await page.getByLabel('Select all rows').check()
  await bar.getByRole('button', { name: 'Delete' }).click()
  const asked = dialog('Delete 2 schedules?')
  await asked.getByRole('button', { name: 'Keep it' }).click()
  await bar.getByRole('button', { name: 'Delete' }).click()
  await asked.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No matching schedules').waitFor()
})

describe('work', () => {
  test('shows its output as Markdown that runs nothing', async () => {
    await schedule(stage, 'Tea news', { every: 'every day at 9:00', note: 'Tea', run: 'slow' })
    await go('/schedule?q=Tea')
    await page.getByRole('link', { name: 'Tea news' }).click()
    const drawer = dialog('Tea news')
    await drawer.getByRole('button', { name: 'Run now' }).click()
    await drawer.getByText('Reading the news').waitFor()
    await drawer.getByText('40 %').waitFor()
    gate.open()
    const output = drawer.getByRole('article', { name: 'Tea report' })
    await output.getByRole('heading', { name: 'Tea this week' }).waitFor()
    await output.getByRole('cell', { name: 'Mombasa' }).waitFor()
    await output.getByText('<b>').waitFor()
    const links = await output.getByRole('link').all()
    expect(await Promise.all(links.map((each) => each.getAttribute('href')))).toEqual([
      'https://example.org/tea',
      'https://example.org/chart.png',
    ])
    expect(await output.locator('img, script, b').count()).toBe(0)
    expect(await barriers(page)).toEqual([])
  })

  test('hands out the file of a run', async () => {
    const { id } = await schedule(stage, 'Numbers', {
      ...{ every: 'every day at 9:00', note: 'n', run: 'table' },
    })
    await call(stage, 'POST', 'schedules/Numbers/run')
    await go(`/schedule/work:${id}`)
    const [saving] = await Promise.all([
      page.waitForEvent('download'),
      button('Download numbers.csv').click(),
    ])
    expect(readFileSync(await saving.path(), 'utf8')).toBe('a,b\n1,2\n')
  })
})

test('a schedule that is gone says so', async () => {
  await go('/schedule/alarm:7f6b7c1e-0000-4000-8000-000000000001')
  await page.getByText('It is deleted or has ended.').waitFor()
})
