/** The console in a real browser, against a real server with the demo agent. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { barriers, openStage, overflow, type Stage, type Visit } from './stage.ts'

const WIDE = { width: 1440, height: 900 }
const NARROW = { width: 380, height: 800 }

let stage: Stage
let url: string
let visit: Visit
let page: Page

beforeAll(async () => {
  stage = await openStage()
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
  const answer = await fetch(`${url}/v1/sessions/${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(answer.ok).toBe(true)
}

const corridor = () => page.getByRole('region', { name: 'Corridor' })
const messages = () => page.getByRole('log', { name: 'Messages' })

async function startSession(): Promise<string> {
  await page.goto(`${url}/#/sessions`)
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
    expect(await barriers(page)).toEqual([])
    // A reload would lose this mark.
    await page.evaluate('window.sameDocument = true')
    await say('Hello from a browser')
    await messages().getByText('You said: “Hello from a browser”').waitFor()
    await corridor().getByText('Answer delivered').waitFor()
    await corridor().getByText('Turn committed').waitFor()
    await corridor()
      .getByText(/fires in \d+ s/)
      .waitFor()
    await corridor().getByText('The agent may write on its own.').waitFor()
    expect(await page.evaluate('window.sameDocument')).toBe(true)
    expect(await barriers(page)).toEqual([])
  })

  test('shows what is said elsewhere, and is the same after a reload', async () => {
    const key = await startSession()
    await send('POST', `${key}/messages`, { text: 'from another app' })
    await messages().getByText('from another app', { exact: true }).waitFor()
    await messages().getByText('You said: “from another app”').waitFor()
    await page.reload()
    await messages().getByText('You said: “from another app”').waitFor()
  })

  test('marks what the agent says unasked, and what it was not let say', async () => {
    const key = await startSession()
    await say('wake up soon')
    await corridor()
      .getByText(/fires in \d+ s/)
      .waitFor()
    await send('PUT', `${key}/timers/check-in`, { delay_seconds: 1 })
    await messages().getByText('Still with me?').waitFor()
    await messages().getByText('follow-up, after timer “check-in”').waitFor()
    await corridor().getByText('Gate let through: unanswered follow-up 1 of 3').waitFor()
    await corridor().getByText('cooling down', { exact: true }).waitFor()
    await send('PUT', `${key}/timers/check-in`, { delay_seconds: 1 })
    await messages().getByText('A follow-up was held back: cooling down until').waitFor()
    await corridor().getByText('Gate held back: cooling down until').waitFor()
    expect(await barriers(page)).toEqual([])
  })

  test('can be watched without taking anything from its reader', async () => {
    const key = await startSession()
    await page.getByRole('link', { name: 'Only watch' }).click()
    await page.getByText('You are watching.').waitFor()
    await send('POST', `${key}/messages`, { text: 'for somebody else' })
    await corridor()
      .getByText(/Answer (waiting for a reader|sent, not acknowledged yet)/)
      .waitFor()
    await page.getByRole('link', { name: 'Join' }).click()
    await corridor().getByText('Answer delivered').waitFor()
  })

  test('is found in the list, and works on a narrow dark screen', async () => {
    await leave()
    await enter({ viewport: NARROW, colorScheme: 'dark' })
    const key = await startSession()
    await say('small')
    await messages().getByText('You said: “small”').waitFor()
    expect(await barriers(page)).toEqual([])
    expect(await overflow(page)).toBe(0)
    await page.getByRole('button', { name: 'Corridor' }).click()
    await corridor().getByText('Turn committed').waitFor()
    expect(await barriers(page)).toEqual([])
    expect(await overflow(page)).toBe(0)
    await page.getByRole('link', { name: 'Sessions' }).click()
    await page.getByRole('link', { name: key }).waitFor()
    expect(await barriers(page)).toEqual([])
    expect(await overflow(page)).toBe(0)
  })

  test('with a key that is none is refused with what to write', async () => {
    await page.goto(`${url}/#/sessions`)
    await page.getByLabel('Session key').fill('hello')
    await page.getByRole('button', { name: 'Open session' }).click()
    await page.getByText('This is not one.').waitFor()
    expect(page.url()).toBe(`${url}/#/sessions`)
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
    expect(await barriers(page)).toEqual([])
  })

  test('offers phrases that work for one that does not', async () => {
    await page.goto(`${url}/#/try`)
    await page.getByLabel('Phrase').fill('evry weekday at 8:30')
    const refused = page.getByRole('alert')
    await refused.getByText('"evry" is not understood here').waitFor()
    expect(await barriers(page)).toEqual([])
    await refused.getByRole('button', { name: 'every weekday at 08:30' }).click()
    await page.getByText('30 8 * * 1-5', { exact: true }).waitFor()
  })
})

test('health is shown in words', async () => {
  await page.goto(`${url}/#/health`)
  await page.getByText('all well').waitFor()
  await page.getByText('embedded (PGlite)').waitFor()
  await page.getByRole('region', { name: 'Due lag' }).getByText('on time').first().waitFor()
  expect(await barriers(page)).toEqual([])
})
