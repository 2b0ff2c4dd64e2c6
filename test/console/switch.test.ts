/** The console's red button, what it holds, and questions that wait for a word, in a real browser. */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agent } from '../../src/index.ts'
import { barriers, openStage, overflow, type Stage, type Visit } from './stage.ts'

const WIDE = { viewport: { width: 1440, height: 1000 } }

/** Asks before it does anything; says what it was told. */
const careful = agent((turn) => {
  const { text, question } = turn.event.payload as { text?: string; question?: { answer: string } }
  if (question !== undefined) turn.say(`You said ${question.answer}.`)
  else if (text === 'send it') turn.ask('Send it to everybody?', { options: ['Send', 'Keep'] })
  else turn.say(`Heard: ${text}`)
})

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ agents: { careful } })
})
afterAll(() => stage?.close())

async function say(key: string, text: string): Promise<void> {
  const answer = await fetch(`${stage.url}/v1/sessions/${key}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
  })
  expect(answer.status, await answer.text()).toBe(202)
}

async function leave(visit: Visit, picture: string): Promise<void> {
  const { page } = visit
  expect(await barriers(page)).toEqual([])
  const folder = process.env.PICTURES
  if (folder !== undefined)
    writeFileSync(`${folder}/${picture}.png`, await page.screenshot({ fullPage: true }))
  await page.setViewportSize({ width: 380, height: 800 })
  expect(await overflow(page)).toBe(0)
  await visit.close()
  expect([visit.complaints, visit.strangers]).toEqual([[], []])
}

test('an agent is stopped after a question, what is held is shown, and comes when it is resumed', async () => {
  const visit = await stage.visit(WIDE)
  const { page } = visit
  await page.goto(`${stage.url}/#/health`)
  const panel = page.getByRole('region', { name: 'The switch' })
  await panel.getByText('nothing is stopped').waitFor()
  await panel.getByLabel('What', { exact: true }).selectOption('agent')
  await panel.getByLabel('Which').fill('careful')
  await panel.getByLabel('Why').fill('it talks too much')
  await panel.getByRole('button', { name: 'Stop', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Stop the agent careful?' })
  await dialog.getByRole('button', { name: 'Stop' }).click()
  await panel.getByText('1 stopped').waitFor()
  await say('ann:careful:t', 'are you there?')
  const held = panel.getByRole('list', { name: 'Held: the agent careful' })
  await held.getByText('ann:careful:t: user message').waitFor()
  const effects = async () => {
    const answer = await fetch(`${stage.url}/v1/sessions/ann:careful:t/effects`)
    return ((await answer.json()) as { data: unknown[] }).data
  }
  expect(await effects()).toEqual([])
  await panel.getByRole('button', { name: 'Resume' }).click()
  await panel.getByText('nothing is stopped').waitFor()
  await expect.poll(effects).toMatchObject([{ payload: { content: 'Heard: are you there?' } }])
  await leave(visit, 'switch')
})

test('an open question is answered by a button, once, and its agent hears it', async () => {
  await say('ann:careful:mail', 'send it')
  const visit = await stage.visit(WIDE)
  const { page } = visit
  await page.goto(`${stage.url}/`)
  const open = page.getByRole('list', { name: 'Open questions' })
  await open.getByText('Send it to everybody?').waitFor()
  await open.getByRole('button', { name: 'Keep' }).click()
  await page.goto(`${stage.url}/#/sessions/${encodeURIComponent('ann:careful:mail')}`)
  await page.getByText('You said Keep.').first().waitFor()
  await leave(visit, 'question')
})
