/** The console's page of a person: their preferences, drawn and changed, and what is deferred for them. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { stretchesOf, wallOf } from '../../packages/console/src/people/stretches.ts'
import { barriers, openStage, overflow, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.close())

async function ask(method: string, path: string, body?: object) {
  const answer = await fetch(`${stage.url}/v1/${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  expect(answer.status, text).toBeLessThan(300)
  return JSON.parse(text)
}

async function deferNews(user: string, names: readonly string[]) {
  for (const intent_name of names)
    await ask('POST', 'intents', {
      ...{ user_id: user, intent_name, agent_id: 'companion', thread_id: 'home' },
      ...{ trigger_type: 'news', trigger_condition: { keywords: ['moon'] } },
      ...{ action_context: 'tell me', max_executions: 1 },
    })
  await ask('POST', 'signals', { kind: 'news', headline: 'The moon is up', user_id: user })
}

const region = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

test('what is deferred is shown with its rule and moment, and comes when it is released', async () => {
  await ask('PUT', 'people/ann', { timezone: 'UTC' })
  await ask('POST', 'people/ann/pause', { for: '50 hours' })
  await deferNews('ann', ['Moon news', 'Moon weather'])
  const visit = await stage.visit({ viewport: { width: 1440, height: 900 } })
  const { page } = visit
  await page.goto(`${stage.url}/#/people/ann`)
  await region(page, 'Pause').getByText('Paused until').waitFor()
  const rows = page.getByRole('list', { name: 'Deferred' }).getByRole('listitem')
  const news = rows.filter({ hasText: 'Moon news' })
  await news.getByText('paused').waitFor()
  await news.getByText(/Comes .*in 2 days/).waitFor()
  await news.getByText(/Since /).waitFor()
  expect(await barriers(page)).toEqual([])
  await page.getByRole('button', { name: 'Release Moon news' }).click()
  await news.waitFor({ state: 'detached' })
  expect(await rows.count()).toBe(1)
  await page.getByRole('button', { name: 'Release Moon weather' }).click()
  await region(page, 'Deferred').getByText('Nothing waits').waitFor()
  const { data } = await ask('GET', 'people/ann/deferred?status=any')
  expect(data.map(({ status }: { status: string }) => status)).toEqual(['released', 'released'])
  await visit.close()
  expect([visit.complaints, visit.strangers]).toEqual([[], []])
})

test('preferences are changed on a phone, refused where they are wrong, and a pause begins and ends', async () => {
  const visit = await stage.visit({ viewport: { width: 380, height: 800 }, colorScheme: 'dark' })
  const { page } = visit
  await page.goto(`${stage.url}/#/people/bea`)
  await page.getByRole('heading', { name: 'bea' }).waitFor()
  await page.getByRole('img', { name: 'Quiet hours of the week: none' }).waitFor()
  await page.getByRole('button', { name: 'Add quiet hours' }).click()
  await page.getByLabel('To', { exact: true }).fill('7:30')
  await page.getByRole('button', { name: 'Sun', exact: true }).click()
  await page.getByRole('img', { name: '22:00 to 7:30 on Mon, Tue, Wed, Thu, Fri, Sat' }).waitFor()
  await page.getByLabel('Most unprompted messages a day').fill('5')
  await page.getByRole('checkbox', { name: 'companion' }).check()
  await page.getByLabel('Time zone').fill('Mars/Base')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Not saved: change what is marked above.').waitFor()
  expect(await barriers(page)).toEqual([])
  await page.getByLabel('Time zone').fill('Europe/Berlin')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  await page.getByText('0 of 5 today').waitFor()
  expect(await ask('GET', 'people/bea')).toMatchObject({
    ...{ timezone: 'Europe/Berlin', most_unasked_per_day: 5, muted_agents: ['companion'] },
    quiet_hours: [{ from: '22:00', to: '07:30', days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat'] }],
  })

  const pause = region(page, 'Pause')
  await pause.getByLabel('Until').fill('yesterday')
  await pause.getByRole('button', { name: 'Pause' }).click()
  await pause.getByRole('alert').first().waitFor()
  await pause.getByLabel('Until').fill('tomorrow at 9am')
  await pause.getByRole('button', { name: 'Pause' }).click()
  await pause.getByText('Paused until').waitFor()
  expect(await overflow(page)).toBe(0)
  expect(await barriers(page)).toEqual([])
  await pause.getByRole('button', { name: 'Resume' }).click()
  await pause.getByLabel('Until').waitFor()
  expect(await ask('GET', 'people/bea')).toMatchObject({ paused_until: null })
  await visit.close()
  // The two that were refused, which a browser reports.
  expect(visit.complaints.map((each) => /status of (\d+)/.exec(each)?.[1])).toEqual(['400', '400'])
  expect(visit.strangers).toEqual([])
})

describe('quiet hours on the days of a week', () => {
  it('what goes beyond midnight is on the next day, also from Sunday to Monday', () => {
    const { mon, tue, sun } = stretchesOf([{ from: '22:00', to: '07:30', days: ['sun'] }])
    expect([sun, mon, tue]).toEqual([[{ from: 1320, to: 1440 }], [{ from: 0, to: 450 }], []])
  })

  it('a whole day is drawn, and what is half written is not', () => {
    expect(stretchesOf([{ from: '00:00', to: '24:00' }]).wed).toEqual([{ from: 0, to: 1440 }])
    expect(stretchesOf([{ from: '2', to: '07:00' }]).wed).toEqual([])
  })

  it('those that overlap or are the same are one', () => {
    const night = { from: '22:00', to: '07:30' }
    const { sat } = stretchesOf([night, night, { from: '06:00', to: '10:00', days: ['sat'] }])
    expect(sat).toEqual([
      { from: 0, to: 600 },
      { from: 1320, to: 1440 },
    ])
  })

  it('now is on the day of the person', () => {
    const at = Date.parse('2026-03-01T23:30:00Z')
    expect(wallOf(at, 'UTC')).toEqual({ day: 'sun', minute: 1410 })
    expect(wallOf(at, 'Europe/Berlin')).toEqual({ day: 'mon', minute: 30 })
  })
})
