/** The channels of people in the console: who is reached where, what came last, a line to try it, a code for somebody new, this browser as a link. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { emailKit, type MailKit } from '../channels/email.kit.ts'
import { barriers, openStage, overflow, type Stage } from './stage.ts'

let stage: Stage
let mail: MailKit
beforeAll(async () => {
  mail = await emailKit()
  const env = {
    ...mail.env,
    WEB_PUSH_SECRET: 'a-secret-that-both-keys-are-made-from',
    WEB_PUSH_CONTACT: 'mailto:ops@wakeful.example',
  }
  stage = await openStage({ env })
})
afterAll(async () => {
  await stage?.close()
  await mail?.stop()
})

const post = async (body: object) => {
  const headers = { 'content-type': 'application/json' }
  const sent = { method: 'POST', headers, body: JSON.stringify(body) }
  expect((await fetch(`${stage.url}/v1/links`, sent)).status).toBe(201)
}

test('a link is shown with what its channel said last, is tried, and is ended after asking', async () => {
  await post({ channel: 'email', address: 'ann@people.example', session_key: 'ann:companion:main' })
  const visit = await stage.visit({ viewport: { width: 1440, height: 900 } })
  const { page } = visit
  await page.goto(`${stage.url}/#/system/channels`)
  const row = page.getByRole('listitem').filter({ hasText: 'ann@people.example' })
  await row.getByText('nothing sent yet').waitFor()
  await page.getByRole('button', { name: 'Try email of ann' }).click()
  await row.getByText('sent', { exact: true }).waitFor()
  expect(mail.arrived('ann@people.example')[0]).toContain('This is a test')
  mail.refuse = () => 'gone'
  await page.getByRole('button', { name: 'Try email of ann' }).click()
  await row.getByText('ended').waitFor()
  await row.getByText('no such user').waitFor()
  expect(await barriers(page)).toEqual([])
  mail.reset()

  await post({ channel: 'email', address: 'bea@people.example', session_key: 'bea:companion:main' })
  const other = page.getByRole('listitem').filter({ hasText: 'bea@people.example' })
  expect(await barriers(page)).toEqual([])
  await other.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete link' }).click()
  await other.waitFor({ state: 'detached' })
  await visit.close()
  expect([visit.complaints, visit.strangers]).toEqual([[], []])
})

test('somebody is linked by a code, and the page fits a phone', async () => {
  const visit = await stage.visit({ viewport: { width: 390, height: 844 } })
  const { page } = visit
  await page.goto(`${stage.url}/#/people/cat`)
  await page.getByText('Link cat').click()
  expect(await page.getByLabel('Session', { exact: true }).first().inputValue()).toBe(
    'cat:companion:main',
  )
  await page.getByRole('button', { name: 'Make a code' }).click()
  await page.getByRole('status').getByText('Send an e-mail to agent@wakeful.example').waitFor()
  await page.getByText('Notify me in this browser').click()
  await page.getByRole('button', { name: 'Allow notifications' }).waitFor()
  // The worker that shows notifications is taken by a browser, and the page can be installed.
  const ready = `navigator.serviceWorker.register('sw.js').then(() => navigator.serviceWorker.ready).then(() => true)`
  expect(await page.evaluate(ready)).toBe(true)
  const manifest = await fetch(`${stage.url}/manifest.webmanifest`)
  expect(await manifest.json()).toMatchObject({ display: 'standalone', start_url: './' })
  expect(await overflow(page)).toBe(0)
  expect(await barriers(page)).toEqual([])
  await visit.close()
  expect([visit.complaints, visit.strangers]).toEqual([[], []])
})
