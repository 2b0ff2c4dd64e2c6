/** What one makes in the console, in a real browser: alarms by phrase, standing intents, and work with its outputs. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../src/index.ts'
import { barriers, openStage, overflow, type Stage, type Visit } from './stage.ts'

const WIDE = { width: 1440, height: 900 }
const NARROW = { width: 380, height: 800 }

const REPORT = `# Tea this week

Prices **fell** in *both* markets, see [the report](https://example.org/tea)
and <b>not bold</b>, [nor this](javascript:alert(1)).

| market | change |
| --- | --- |
| Mombasa | -4 % |

1. first
2. second

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
let url: string
let visit: Visit
let page: Page

beforeAll(async () => {
  stage = await openStage({ work })
  url = stage.url
})
afterAll(() => stage?.close())
beforeEach(() => enter({ viewport: WIDE }))
afterEach(leave)

async function enter(options: Parameters<Stage['visit']>[0]): Promise<void> {
  visit = await stage.visit(options)
  page = visit.page
}

/** What a test has refused by the server, the browser reports too. */
async function leave(): Promise<void> {
  await visit.close()
  expect(visit.complaints.filter((text) => !/status of (400|422) /.test(text))).toEqual([])
  expect(visit.strangers).toEqual([])
}

async function go(path: string): Promise<void> {
  await page.goto(`${url}/#${path}`)
}

async function post(path: string, body: object): Promise<{ id: string }> {
  const answer = await fetch(`${url}/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(answer.ok).toBe(true)
  return (await answer.json()) as { id: string }
}

/** A reload would lose this mark. */
const mark = () => page.evaluate('window.sameDocument = true')
const isMarked = () => page.evaluate('window.sameDocument')
const button = (name: string) => page.getByRole('button', { name, exact: true })

describe('an alarm', () => {
  test('is set by a phrase that is previewed, and seen to fire without a reload', async () => {
    await go('/alarms')
    await page.getByText('No alarms yet').waitFor()
    await mark()
    await button('New alarm').click()
    await button('every weekday at 8:30').click()
    const meaning = page.getByRole('region', { name: 'Meaning' })
    await meaning.getByText('Every weekday at 08:30').waitFor()
    expect(await meaning.getByRole('listitem').count()).toBe(3)
    await page.getByLabel('When').fill('in 2 seconds')
    await meaning.getByText('now').first().waitFor()
    await page.getByLabel('What to tell the agent').fill('Stretch your legs')
    expect(await barriers(page)).toEqual([])
    await button('Set alarm').click()
    const row = page.getByRole('listitem').filter({ hasText: 'Stretch your legs' })
    await row.getByText('active', { exact: true }).waitFor()
    await row.getByText('fired', { exact: true }).waitFor()
    expect(await isMarked()).toBe(true)
    expect(await barriers(page)).toEqual([])
  })

  test('that is refused says why at the field', async () => {
    await go('/alarms')
    await button('New alarm').click()
    await page.getByLabel('When').fill('evry weekday at 8:30')
    await button('every weekday at 08:30').click()
    await page.getByRole('region', { name: 'Meaning' }).waitFor()
    await button('Set alarm').click()
    const field = page.getByLabel('What to tell the agent')
    await page.getByText('Must not be blank').waitFor()
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    await page.getByText('Not saved: change what is marked above.').waitFor()
    expect(await barriers(page)).toEqual([])
  })

  test('is found by its words, fired besides its schedule, and cancelled when one means it', async () => {
    const body = { schedule: 'every day at 7:00', wake_message: 'go', timezone: 'Europe/Berlin' }
    await post('alarms', { ...body, label: 'Morning light' })
    await post('alarms', { ...body, label: 'Evening dark' })
    await go('/alarms')
    await page.getByLabel('Search alarms').fill('morning')
    await page.getByText('Evening dark').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: /Morning light/ }).click()
    await page.getByRole('heading', { name: 'Morning light' }).waitFor()
    await button('Fire now').click()
    await page.getByText('Last fired').waitFor()
    const history = page.getByRole('region', { name: 'History' })
    await history.getByText('sent, not read yet').waitFor()
    await button('Cancel alarm').click()
    const asked = page.getByRole('dialog', { name: 'Cancel this alarm?' })
    await asked.getByRole('button', { name: 'Keep it' }).click()
    await page.getByText('active', { exact: true }).waitFor()
    await button('Cancel alarm').click()
    expect(await barriers(page)).toEqual([])
    await asked.getByRole('button', { name: 'Cancel alarm' }).click()
    await history.getByText('cancelled', { exact: true }).waitFor()
    await page.getByText('It fires no more.').waitFor()
    expect(await barriers(page)).toEqual([])
  })
})

describe('an intent', () => {
  test('on a price is made, fires with the fact that makes it true, and is switched off', async () => {
    await go('/intents')
    await page.getByText('No intents yet').waitFor()
    await button('New intent').click()
    await button('A price').click()
    await page.getByLabel('Ticker').fill('NVDA')
    await page.getByLabel('What the agent is to do then').fill('Tell me that it fell')
    await button('Make intent').click()
    // A price without a number: the server's words stand at the field.
    await page.getByText('Required for type').waitFor()
    await page.getByLabel('Price', { exact: true }).fill('130')
    await button('Make intent').click()
    await page.getByText('When NVDA < 130').waitFor()
    expect(await barriers(page)).toEqual([])
    await page.getByRole('link', { name: /Tell me that it fell/ }).click()
    await mark()
    await page.getByText('not met', { exact: true }).waitFor()
    await post('signals', { kind: 'price', ticker: 'NVDA', price: 121.5 })
    const history = page.getByRole('region', { name: 'History' })
    await history.getByText('fired', { exact: true }).waitFor()
    await history.getByText(/price 121\.5 ·/).waitFor()
    expect(await isMarked()).toBe(true)
    await page.getByRole('switch', { name: 'Enabled' }).click()
    await page.getByText('disabled', { exact: true }).waitFor()
    expect(await barriers(page)).toEqual([])
    await button('Delete').click()
    await button('Delete intent').click()
    await page.getByText('No intents yet').waitFor()
  })

  test('at times is made from a phrase, and each kind has its own fields', async () => {
    await go('/intents')
    await button('New intent').click()
    await button('A silence').click()
    await page.getByLabel(/Hours without a message/).waitFor()
    await button('News').click()
    await page.getByLabel('Any of these words').waitFor()
    await button('The calendar').click()
    await page.getByLabel('Minutes before an entry starts').waitFor()
    await button('A time').click()
    await button('every 45 minutes').click()
    await page.getByRole('region', { name: 'Meaning' }).waitFor()
    await page.getByLabel('What the agent is to do then').fill('Look at the queue')
    await button('Make intent').click()
    const row = page.getByRole('listitem').filter({ hasText: 'Look at the queue' })
    await row.getByText('interval', { exact: true }).waitFor()
  })
})

describe('work', () => {
  test('shows its progress, and its output as Markdown that runs nothing', async () => {
    await go('/work')
    await page.getByText('No work yet').waitFor()
    await button('New work').click()
    await page.getByLabel('What to do').fill('Summarise the news about tea')
    await page.getByLabel('Executor').selectOption('slow')
    await page.getByLabel('How often').fill('daily at 9am')
    await page.getByRole('region', { name: 'Meaning' }).getByText('09:00').first().waitFor()
    expect(await barriers(page)).toEqual([])
    await button('Start work').click()
    await page.getByText('Reading the news').waitFor()
    await page.getByText('40 %').waitFor()
    expect(await barriers(page)).toEqual([])
    gate.open()
    const output = page.getByRole('article', { name: 'Tea report' })
    await output.getByRole('heading', { name: 'Tea this week' }).waitFor()
    await output.getByRole('cell', { name: 'Mombasa' }).waitFor()
    await output.getByText('<b>').waitFor()
    const links = await output.getByRole('link').all()
    expect(await Promise.all(links.map((link) => link.getAttribute('href')))).toEqual([
      'https://example.org/tea',
      'https://example.org/chart.png',
    ])
    expect(await output.locator('img, script, b').count()).toBe(0)
    expect(await barriers(page)).toEqual([])
    await button('Pause').click()
    await page.getByText('paused', { exact: true }).waitFor()
    await button('Resume').click()
    await page.getByText('active', { exact: true }).waitFor()
    await button('Change frequency').click()
    await page.getByLabel('How often').fill('every Monday at 10am')
    await button('Save').click()
    await page
      .getByText(/Monday/)
      .first()
      .waitFor()
    await button('Run now').click()
    await page.getByText('Reading the news').waitFor()
    gate.open()
    await page.getByText('run 2 ·').waitFor()
  })

  test('hands out the file of a run, and is deleted when one means it', async () => {
    const { work: made } = (await post('work', {
      task: 'numbers',
      agent_type: 'table',
    })) as never as {
      work: { id: string }
    }
    await go(`/work/${made.id}`)
    const [saving] = await Promise.all([
      page.waitForEvent('download'),
      button('Download numbers.csv').click(),
    ])
    const saved = await saving.path()
    expect(readFileSync(saved, 'utf8')).toBe('a,b\n1,2\n')
    await button('Delete').click()
    await button('Delete work').click()
    await page.getByRole('heading', { name: 'Work', exact: true }).waitFor()
    await page.getByText('numbers', { exact: true }).waitFor({ state: 'detached' })
  })
})

test('the pages fit a narrow dark screen, lists and forms', async () => {
  await leave()
  await enter({ viewport: NARROW, colorScheme: 'dark' })
  for (const [path, make] of [
    ['/alarms', 'New alarm'],
    ['/intents', 'New intent'],
    ['/work', 'New work'],
  ] as const) {
    await go(path)
    await button(make).click()
    await page.getByRole('form').or(page.locator('form')).first().waitFor()
    expect(await overflow(page), path).toBe(0)
    expect(await barriers(page), path).toEqual([])
  }
})
