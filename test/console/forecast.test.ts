/** The console's page of forecasts: asked for, drawn in lanes, gone through with the slider, and nothing set by it. */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it, test } from 'vitest'
import { type Forecast, marksAt, standing } from '../../packages/console/src/forecast/shapes.ts'
import { barriers, openStage, overflow, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.close())

async function ask(method: string, path: string, body: object) {
  const answer = await fetch(`${stage.url}/v1/${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'wakeful-act-as': 'ann' },
    body: JSON.stringify(body),
  })
  expect(answer.status, await answer.text()).toBeLessThan(300)
}

/** Where somebody wants to look at it: the page as a picture in that folder. */
async function picture(page: { screenshot(options: object): Promise<Buffer> }, name: string) {
  const folder = process.env.PICTURES
  if (folder !== undefined)
    writeFileSync(`${folder}/${name}.png`, await page.screenshot({ fullPage: true }))
}

test('days are forecast with a draft, and gone through; nothing is set', async () => {
  await ask('PUT', 'people/ann', { timezone: 'UTC', most_unasked_per_day: 3 })
  for (const [hour, label] of [
    [7, 'Stretch'],
    [9, 'Stand-up'],
    [12, 'Lunch'],
    [18, 'Read'],
  ])
    await ask('POST', 'alarms', {
      ...{ kind: 'cron', cron_expr: `0 ${hour} * * *`, timezone: 'UTC', label },
      ...{ wake_message: label, agent_id: 'companion', conversation_id: 'day' },
    })
  const visit = await stage.visit({ viewport: { width: 1440, height: 1000 } })
  const { page } = visit
  await page.goto(`${stage.url}/#/forecast`)
  await page.getByText('Nothing forecast yet').waitFor()
  await page.getByLabel('Person').fill('nan')
  await page.getByRole('button', { name: 'Forecast' }).click()
  await page.getByText('Nothing would come due').waitFor()
  await page.getByLabel('Person').fill('ann')
  await page.getByLabel('Days').selectOption('7')
  await page.getByLabel('What if this alarm were added?').fill('every day at 20:00')
  await page.getByLabel('Which says').fill('Go to bed')
  await page.getByRole('button', { name: 'Forecast' }).click()
  await page.getByRole('heading', { name: 'What ann would hear' }).waitFor()
  const list = page.getByRole('list', { name: 'Occurrences' })
  const slider = page.getByRole('slider')
  // To the end of the third day.
  const from = Number(await slider.getAttribute('min'))
  const day = new Date(from + 2 * 86_400_000).toISOString().slice(0, 10)
  const end = Date.parse(`${day}T23:30:00Z`)
  await slider.fill(String(from + Math.floor((end - from) / 900_000) * 900_000))
  await page.getByRole('heading', { name: `On ${day}` }).waitFor()
  const bed = list.getByRole('listitem').filter({ hasText: 'Go to bed' })
  await bed.getByText('draft').waitFor()
  // Three a day: the others come on the next day, together.
  await list
    .getByText(/together with/)
    .first()
    .waitFor()
  await page.getByText(/by then \d+ said, [1-9]\d* waiting for their moment/).waitFor()
  expect(await barriers(page)).toEqual([])
  await picture(page, 'forecast')
  await slider.fill(String(from))
  await page.getByText('by then 0 said, 0 waiting').waitFor()
  await page.setViewportSize({ width: 380, height: 800 })
  expect(await overflow(page)).toBe(0)
  await picture(page, 'forecast-phone')
  await visit.close()
  expect([visit.complaints, visit.strangers]).toEqual([[], []])
  expect(await stage.query('select 1 from wakeful.alarms')).toHaveLength(4)
  expect(await stage.query('select 1 from wakeful.events')).toEqual([])
})

it('what has been by an instant is known, and what waits then', () => {
  const one = (id: string, at: string, more: object = {}) => ({
    ...{ id, at, scheduled_for: at, outcome: 'sent', words: '', reason: null, missed_count: 0 },
    trigger: { kind: 'alarm', id: null, name: id, draft: false },
    ...{ said_at: at, ...more },
  })
  const forecast = {
    user_id: 'ann',
    occurrences: [
      one('a', '2026-11-17T09:00:00Z'),
      one('b', '2026-11-17T22:00:00Z', {
        said_at: '2026-11-18T07:00:00Z',
        deferred: {
          rule: 'quiet_hours',
          from: '2026-11-17T22:00:00Z',
          until: '2026-11-18T07:00:00Z',
        },
      }),
    ],
  } as unknown as Forecast
  const night = Date.parse('2026-11-17T23:00:00Z')
  expect(standing(forecast, night)).toEqual({ said: 1, waiting: 1 })
  expect(standing(forecast, night + 86_400_000)).toEqual({ said: 2, waiting: 0 })
  const noon = Date.parse('2026-11-17T12:00:00Z')
  expect(marksAt(forecast, noon).map(({ past }) => past?.outcome)).toEqual(['sent', undefined])
  expect(marksAt(forecast, night).map(({ past }) => past?.outcome)).toEqual(['sent', 'deferred'])
})
