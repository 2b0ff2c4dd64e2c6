/** The six pages for everybody: nothing that axe finds wrong, nothing wider than the screen, light and dark, large and small. */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agent, companion } from '../../src/index.ts'
import { call, NARROW, outcomeOf, say, schedule, WIDE } from './call.ts'
import { barriers, openStage, overflow, type Stage } from './stage.ts'

const flaky = agent((turn) => {
  if (turn.event.type !== 'user_message') throw new TypeError('the price service answered 500')
  turn.ask('Send it to everybody?', { options: ['Send', 'Keep'] })
})

let stage: Stage
let failed: string
beforeAll(async () => {
  stage = await openStage({ agents: { companion, flaky } })
  const plan = { every: 'every weekday at 8:30', note: 'Plan the day', agent_id: 'companion' }
  for (const user_id of ['ann', 'bea']) {
    await schedule(stage, 'Plan the day', { ...plan, user_id })
    await say(stage, `${user_id}:companion:main`, 'hello')
  }
  await say(stage, 'bea:flaky:main', 'ask')
  await schedule(stage, 'Price', { in: 0, note: 'x', user_id: 'bea', agent_id: 'flaky' })
  failed = await outcomeOf(stage, 'bea', 'failed')
  await call(stage, 'POST', 'stops', { level: 'user', target: 'nobody', reason: 'a test' })
})
afterAll(() => stage?.close())

/** Where each page is, and what shows that it has its data. */
const PAGES: readonly (readonly [name: string, path: () => string, ready: string])[] = [
  ['home', () => '/', 'Open questions'],
  ['schedule', () => '/schedule', 'Plan the day'],
  ['calendar', () => '/schedule?view=calendar', 'Plan the day'],
  ['agenda', () => '/schedule?view=agenda', 'Plan the day'],
  ['new', () => '/schedule?new=1', 'Instructions for the agent'],
  ['activity', () => '/activity', 'answered 500'],
  ['occurrence', () => `/activity/${failed}`, 'What happened'],
  ['people', () => '/people', 'bea'],
  ['person', () => '/people/ann', 'Preferences'],
  ['agents', () => '/agents', 'companion'],
  ['agent', () => '/agents/companion', 'Median turn'],
  ['system', () => '/system', 'Checks'],
  ['stops', () => '/system/stops', 'Stop'],
  ['keys', () => '/system/keys', 'Make a key'],
  ['audit', () => '/system/audit', 'post_message'],
  ['settings', () => '/system/settings', 'AUTONOMY_COOLDOWN_MS'],
  ['session', () => '/sessions/ann:companion:main', 'You are watching'],
]

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  test.each([
    ['wide', WIDE],
    ['narrow', NARROW],
  ] as const)('on a %s screen', async (size, viewport) => {
    const visit = await stage.visit({ viewport, colorScheme })
    const { page } = visit
    const found: Record<string, unknown> = {}
    for (const [name, path, ready] of PAGES) {
      await page.goto(`${stage.url}/#${path()}`)
      await page
        .getByRole('main')
        .getByText(ready)
        .or(page.getByRole('dialog').getByText(ready))
        .first()
        .waitFor()
      const loading = page.locator('[role=status][aria-label=Loading]')
      await expect.poll(() => loading.count(), { timeout: 20_000 }).toBe(0)
      const wrong = [...(await barriers(page)), ...(await widths(page))]
      if (wrong.length > 0) found[name] = wrong
      const folder = process.env.PICTURES
      if (folder !== undefined)
        writeFileSync(`${folder}/${name}-${size}-${colorScheme}.png`, await page.screenshot())
    }
    expect(found).toEqual({})
    await visit.close()
    expect([visit.complaints, visit.strangers]).toEqual([[], []])
  })
})

async function widths(page: Parameters<typeof overflow>[0]): Promise<string[]> {
  const px = await overflow(page)
  return px === 0 ? [] : [`${px} px too wide`]
}
