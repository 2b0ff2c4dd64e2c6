/** The console of a server that asks for keys: coming in, who one is, making and revoking keys. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { barriers, openStage, overflow, type Stage, type Visit } from './stage.ts'

const ADMIN_KEY = 'the-admin-key-of-the-environment-0123456789'

let stage: Stage
let visit: Visit
let page: Page

beforeAll(async () => {
  stage = await openStage({ env: { WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: ADMIN_KEY } })
})

afterAll(() => stage?.close())

beforeEach(() => enter({ viewport: { width: 1440, height: 900 } }))

afterEach(leave)

async function enter(options: Parameters<Stage['visit']>[0]): Promise<void> {
  visit = await stage.visit(options)
  page = visit.page
}

async function leave(): Promise<void> {
  await visit.close()
  // The browser reports each refusal, and refusals are what is tried here.
  expect(visit.complaints.filter((text) => !/status of 40[01]/.test(text))).toEqual([])
  expect(visit.strangers).toEqual([])
}

async function comeIn(key: string, path = '/'): Promise<void> {
  await page.goto(`${stage.url}/#${path}`)
  await page.getByLabel('Key', { exact: true }).fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
}

async function post<T>(key: string, path: string, body: object): Promise<T> {
  const answer = await fetch(`${stage.url}/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })
  expect(answer.status).toBeLessThan(300)
  return (await answer.json()) as T
}

test('a wrong key is refused with what to do, a right one leads to the page asked for', async () => {
  await page.goto(`${stage.url}/#/system/settings`)
  await page.getByRole('heading', { name: 'Sign in with a key' }).waitFor()
  expect(await barriers(page)).toEqual([])
  await page.getByLabel('Key', { exact: true }).fill('wk_admin_wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('The server knows no such key').waitFor()
  await page.getByLabel('Key', { exact: true }).fill(ADMIN_KEY)
  await page.keyboard.press('Enter')
  await page.getByText('at most 3').waitFor()
  await page.getByText('You are admin').first().waitFor()
  // Kept for this tab alone.
  expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain(ADMIN_KEY)
  await page.reload()
  await page.getByText('at most 3').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in with a key' }).waitFor()
  expect(await page.evaluate('sessionStorage.length')).toBe(0)
})

test('a key is made, shown once, used and revoked after a question', async () => {
  await comeIn(ADMIN_KEY, '/system/keys')
  await page.getByText('No keys yet').waitFor()
  await page.getByLabel('Role').selectOption('agent')
  await page.getByRole('button', { name: 'Make key' }).click()
  await page.getByRole('alert').getByText('user_id').waitFor()
  await page.getByLabel('Person').fill('ann')
  await page.getByLabel('Expires').selectOption('30')
  await page.getByRole('button', { name: 'Make key' }).click()
  const shown = page.getByLabel('The new key')
  const key = (await shown.textContent()) ?? ''
  expect(key).toMatch(/^wk_agent_/)
  expect(await barriers(page)).toEqual([])
  const ask = () => fetch(`${stage.url}/v1/me`, { headers: { authorization: `Bearer ${key}` } })
  expect((await ask()).status).toBe(200)
  await page.getByRole('button', { name: 'I have it' }).click()
  await shown.waitFor({ state: 'detached' })
  expect(await page.content()).not.toContain(key)
  const row = page.getByRole('table', { name: 'Keys' }).getByRole('row').filter({ hasText: 'ann' })
  await row.getByRole('button', { name: 'Revoke the key of ann' }).click()
  const dialog = page.getByRole('dialog', { name: 'Revoke this key?' })
  expect(await barriers(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Keep it' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await row.getByText('revoked').count()).toBe(0)
  await row.getByRole('button', { name: 'Revoke the key of ann' }).click()
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await row.getByText('revoked').waitFor()
  await expect.poll(async () => (await ask()).status).toBe(401)
})

test('a person sees their own, is told what is for admins, and talks live', async () => {
  const made = { role: 'user', user_id: 'bea' }
  const { key } = await post<{ key: string }>(ADMIN_KEY, 'keys', made)
  await post(key, 'sessions/bea:companion:home/messages', { text: 'green bananas' })
  await leave()
  await enter({ viewport: { width: 380, height: 800 } })
  await comeIn(key, '/system/keys')
  await page.getByText('Keys are for admins').waitFor()
  await page.getByText('a key for bea').last().waitFor()
  expect(await barriers(page)).toEqual([])
  expect(await overflow(page)).toBe(0)
  await page.getByRole('link', { name: 'Activity' }).click()
  await page.getByRole('heading', { name: 'Activity' }).waitFor()
  await page.getByLabel('Outcome').waitFor()
  expect(await page.getByLabel('Person').count()).toBe(0)
  await page.goto(`${stage.url}/#/sessions/bea:companion:home`)
  // By a ticket, since a browser sends no header with a socket.
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByLabel('Message to the agent').fill('purple elephants')
  await page.keyboard.press('Enter')
  await page.getByText('You said: “purple elephants”').first().waitFor()
})
