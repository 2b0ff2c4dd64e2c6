/** The frame around all pages: by keyboard, light or dark, what a first load costs, and what goes wrong stays where it is. */
import { brotliCompressSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { call, say, schedule, WIDE } from './call.ts'
import { barriers, openStage, type Stage, type Visit } from './stage.ts'

/** Of the document, scripts and styles, compressed as the server sends them. */
const FIRST_LOAD_MAX = 140 * 1024
const FONTS_MAX = 80 * 1024

let stage: Stage
let url: string
let visit: Visit
let page: Page

beforeAll(async () => {
  stage = await openStage()
  url = stage.url
  await say(stage, 'ann:companion:main', 'hello')
  await schedule(stage, 'Walk', { every: 'every day at 7:00', note: 'walk', user_id: 'ann' })
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

const home = () => page.getByRole('heading', { name: 'Home' })
const link = (name: string) =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name })

test('goes everywhere by keyboard', async () => {
  await page.goto(url)
  await home().waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('s')
  await page.getByRole('heading', { name: 'Schedule' }).waitFor()
  await page.keyboard.press('/')
  await page.locator('[type=search]:focus').waitFor()
  // Typed into a field, the letters are only letters.
  await page.keyboard.type('gn')
  expect(await page.getByLabel('Search schedules').inputValue()).toBe('gn')
  await page.reload()
  await page.getByRole('heading', { name: 'Schedule' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  expect(await page.evaluate('document.activeElement.tagName')).toBe('MAIN')
})

test('the palette finds people, agents, schedules and actions, and stops an agent', async () => {
  await page.goto(url)
  await home().waitFor()
  await page.keyboard.press('Control+k')
  const field = page.getByRole('combobox', { name: /^Search/ })
  await field.fill('walk')
  await page.getByRole('option', { name: /Walk/ }).waitFor()
  expect(await barriers(page)).toEqual([])
  await field.fill('ann')
  await page.getByRole('option', { name: 'ann', exact: true }).waitFor()
  await field.fill('stop comp')
  await page.getByRole('option', { name: 'Stop agent companion' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Stopped' }).getByText('agent companion').waitFor()
  await page.keyboard.press('Control+k')
  await field.fill('resume')
  await page.getByRole('option', { name: 'Resume agent companion' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Stopped' }).waitFor({ state: 'detached' })
})

test('what changes elsewhere is seen without asking again and again', async () => {
  await page.goto(url)
  await home().waitFor()
  await page
    .getByRole('region', { name: 'Still to come' })
    .getByText('Walk')
    .first()
    .or(page.getByRole('region', { name: 'Today' }))
    .first()
    .waitFor()
  await schedule(stage, 'Soon', { in: '20 minutes', note: 'x', user_id: 'ann' })
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await page.getByRole('region', { name: 'Today' }).getByText('Soon').waitFor()
  await page.evaluate(`new Promise((done) => {
    setTimeout(done, 6000)
  })`)
  // A clock would have asked six times; what is there now came from one change.
  const overviews = asked.filter((address) => address.includes('/v1/overview'))
  expect(overviews.length).toBeLessThan(4)
})

test('is light or dark as chosen, also after a reload', async () => {
  await page.goto(url)
  await home().waitFor()
  const scheme = () => page.evaluate('getComputedStyle(document.documentElement).colorScheme')
  const paper = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  const light = await paper()
  const choice = page.getByLabel('Light or dark').first()
  await choice.selectOption('dark')
  expect(await scheme()).toBe('dark')
  expect(await paper()).not.toBe(light)
  await page.reload()
  await home().waitFor()
  expect(await scheme()).toBe('dark')
  expect(await barriers(page)).toEqual([])
  await choice.selectOption('system')
  expect(await paper()).toBe(light)
})

test('a first load is at most 140 KB compressed, with fonts of at most 80 KB beside', async () => {
  const parts: Promise<readonly [type: string, bytes: number]>[] = []
  page.on('response', (answer) => {
    const type = answer.request().resourceType()
    if (!['document', 'script', 'stylesheet', 'font'].includes(type)) return
    const size = (body: Buffer) => (type === 'font' ? body : brotliCompressSync(body)).length
    parts.push(answer.body().then((body) => [type, size(body)] as const))
  })
  await page.goto(url)
  await home().waitFor()
  await page.evaluate('document.fonts.ready.then(() => true)')
  const sizes = await Promise.all(parts)
  const sum = (fonts: boolean) =>
    sizes.filter(([type]) => (type === 'font') === fonts).reduce((all, [, bytes]) => all + bytes, 0)
  console.log(`first load: ${sum(false)} bytes, fonts ${sum(true)} bytes`)
  expect(sum(false)).toBeGreaterThan(0)
  expect(sum(false)).toBeLessThan(FIRST_LOAD_MAX)
  expect(sum(true)).toBeGreaterThan(0)
  expect(sum(true)).toBeLessThan(FONTS_MAX)
})

test('says so when the code of a page does not come, and begins anew when the server is back', async () => {
  await page.goto(url)
  await home().waitFor()
  await page.route('**/*', (route) => route.abort())
  await link('System').click()
  await page.getByText('This page could not be loaded').waitFor()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  await page.unroute('**/*')
  await page.getByText('Throughput and lag').waitFor()
  // The browser reports each request that failed; that is what this test is about.
  visit = { ...visit, complaints: [] }
})

test('keeps what goes wrong on one page to that page', async () => {
  await page.route('**/v1/keys?*', (route) => route.fulfill({ json: { data: [null] } }))
  await page.goto(`${url}/#/system/keys`)
  await page.getByText('This page could not be shown').waitFor()
  await link('People').click()
  await page.getByRole('heading', { name: 'People' }).waitFor()
  await page.unroute('**/v1/keys?*')
  await page.goto(`${url}/#/system/keys`)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('Make a key').first().waitFor()
  // The browser reports what was thrown; that is what this test is about.
  visit = { ...visit, complaints: [] }
})

test('leads somewhere from an address that is none', async () => {
  await page.goto(`${url}/#/nowhere`)
  await page.getByRole('link', { name: 'Go to Home' }).click()
  await home().waitFor()
})

test('everything can be stopped after a question, and what waits is shown until it is resumed', async () => {
  await page.goto(`${url}/#/system/stops`)
  const panel = page.getByRole('region', { name: 'Stops', exact: true })
  await panel.getByText('nothing is stopped').waitFor()
  await panel.getByLabel('What', { exact: true }).selectOption('user')
  await panel.getByLabel('Which').fill('ann')
  await panel.getByLabel('Why').fill('it talks too much')
  await panel.getByRole('button', { name: 'Stop', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Stop person ann?' })
  await dialog.getByRole('button', { name: 'Stop' }).click()
  await panel.getByText('1 stopped').waitFor()
  await say(stage, 'ann:companion:t', 'are you there?')
  const held = panel.getByRole('list', { name: 'Held: person ann' })
  await held.getByText('ann:companion:t: user message').waitFor()
  await panel.getByRole('button', { name: 'Resume' }).click()
  await panel.getByText('nothing is stopped').waitFor()
  await expect
    .poll(() => call<{ data: object[] }>(stage, 'GET', 'sessions/ann:companion:t/effects'))
    .toMatchObject({ data: [{ type: 'send_message' }] })
})

test('receivers outside are shown without their addresses, and ended', async () => {
  await stage.query(
    `insert into wakeful.subscriptions (bucket, id, user_id, principal, name, arguments, url, secret, cursor, created_at, updated_at)
     values (1, gen_random_uuid(), 'ann', 'ann', 'alarm.due', '{"label":"tea"}', 'https://there.example/secret-path', 'planted', '', now(), now())`,
  )
  await page.goto(`${url}/#/system/subscriptions`)
  await page.getByText('there.example').waitFor()
  await page.getByText('label tea').waitFor()
  expect(await page.content()).not.toMatch(/planted|secret-path/)
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('button', { name: 'Delete subscription' }).click()
  await page.getByText('there.example').waitFor({ state: 'detached' })
})
