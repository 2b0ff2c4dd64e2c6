/**
 * Long lists and long sessions in a real browser: few answers before the first content, and only what is in sight is
 * drawn. Counted, not timed: what a quiet machine does in a second a busy one does not.
 */
import type { Locator, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertCopies } from '../setup/copies.ts'
import { until } from '../setup/until.ts'
import { openStage, type Stage, type Visit } from './stage.ts'

const ALARMS = 50_000
const EVENTS = 5_000
const NODES_MAX = 1_500
/** Drawn for one turn of the wheel. Seen: about 1,050 of the table, whose rows are dense, and 200 of the session. */
const DRAWN_MAX = 1_200
/** What first content may cost: answers in series after the page itself, and bytes of data. */
const ROUNDS_MAX = { session: 2, alarms: 3 } as const
const DATA_BYTES_MAX = 128 * 1024
/** Of the page's own clock, which waits for its scripts: what one answer leads to is asked for within it. */
const QUIET_MS = 400
/** Less than a line: whoever reads a message finds it where it was. */
const MOVED_MAX_PX = 20
const KEY = 'local:companion:long'

let stage: Stage
let visit: Visit
let page: Page

beforeAll(async () => {
  stage = await openStage()
  await seedAlarms()
  await seedSession()
  visit = await stage.visit({ viewport: { width: 1440, height: 900 } })
  page = visit.page
  // Frame and fonts are loaded once; what is measured is the page itself.
  await page.goto(`${stage.url}/#/system/settings`)
  await page.getByRole('heading', { name: 'System' }).waitFor()
})

afterAll(async () => {
  await visit?.close()
  await stage?.close()
})

async function post(path: string, body: object): Promise<void> {
  const answer = await fetch(`${stage.url}/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(answer.ok).toBe(true)
}

/** One alarm by its route, and copies of it: columns are as the product writes them. */
async function seedAlarms(): Promise<void> {
  await post('alarms', { schedule: 'in 30 days', wake_message: 'needle', label: 'The very first' })
  await insertCopies(stage.query, {
    table: 'alarms',
    where: 'true',
    numbers: [1, ALARMS - 1],
    changes: {
      id: 'gen_random_uuid()',
      delivery_id: 'gen_random_uuid()',
      label: "'Alarm ' || n",
      next_fire_at: "a.next_fire_at + n * interval '1 ms'",
      due_at: "a.due_at + n * interval '1 ms'",
      wake_message: "'hay'",
      created_at: "a.created_at + n * interval '1 ms'",
    },
  })
}

/** The first event runs as any; the others and what they led to are copies of it. */
async function seedSession(): Promise<void> {
  const own = `session_key = '${KEY}'`
  await post(`sessions/${KEY}/messages`, { text: 'number 1' })
  const done = `select 1 from wakeful.sessions where ${own} and done_seq = 1`
  await until('its turn is done', async () => (await stage.query(done)).length > 0)
  await stage.query(`delete from wakeful.effects where ${own} and type <> 'send_message'`)
  await stage.query(`delete from wakeful.autonomy_timers where ${own}`)
  const later = "a.created_at + n * interval '1 ms'"
  const [event, effect] = ["md5('event' || n)::uuid", "md5('effect' || n)::uuid"]
  const copied = (table: string, changes: Record<string, string>) =>
    insertCopies(stage.query, { table, where: `a.${own}`, numbers: [2, EVENTS], changes })
  await copied('events', {
    ...{ seq: 'n', id: event, client_id: 'null', created_at: later },
    payload: "json_build_object('text', 'number ' || n)",
  })
  await copied('attempts', { event_seq: 'n', event_id: event, effect_ids: `array[${effect}]` })
  await copied('effects', {
    ...{ position: 'n * 1000', event_seq: 'n', id: effect, created_at: later, due_at: 'null' },
    ...{ status: "'completed'", dedupe_key: "md5('key' || n)" },
  })
  await stage.query(
    `update wakeful.sessions set last_seq = ${EVENTS}, done_seq = ${EVENTS} where ${own}`,
  )
}

const nodes = () => page.evaluate<number>("document.querySelectorAll('*').length")

async function opened(path: string, text: string): Promise<void> {
  await page.goto(`${stage.url}/#${path}`)
  await page.getByText(text, { exact: true }).first().waitFor()
}

/** By the page's own clock: its timer comes after everything that the page had to do before. */
const quiet = (one: Page, ms: number) =>
  one.evaluate<void>(`new Promise((done) => {
    setTimeout(done, ${ms})
  })`)

/**
 * Answers are held back until nobody asks for more, then all let go: how often that was needed until the text was there is how
 * many answers were waited for in series.
 */
async function cost(path: string, text: string): Promise<{ rounds: number; bytes: number }> {
  const own = await stage.visit({ viewport: { width: 1440, height: 900 } })
  const held: Route[] = []
  let [rounds, bytes] = [0, 0]
  const isThere = () => own.page.getByText(text, { exact: true }).first().isVisible()
  try {
    await own.page.route('**/*', (route) => {
      // The stream of changes is an answer without an end.
      const isStream = route.request().url().endsWith('/v1/changes')
      if (!route.request().isNavigationRequest() && !isStream) held.push(route)
      else return route.continue()
      return undefined
    })
    await own.page.goto(`${stage.url}/#${path}`, { waitUntil: 'commit' })
    while (!(await isThere())) {
      const before = held.length
      await quiet(own.page, QUIET_MS)
      if (held.length === 0 || held.length > before) continue
      rounds++
      const answers = held.splice(0).map(async (route) => {
        const answer = await route.fetch()
        if (route.request().url().includes('/v1/')) bytes += (await answer.body()).length
        await route.fulfill({ response: answer })
        await (await route.request().response())?.finished()
      })
      await Promise.all(answers)
      await quiet(own.page, QUIET_MS)
    }
    return { rounds, bytes }
  } finally {
    await own.page.unrouteAll({ behavior: 'ignoreErrors' })
    await own.close()
  }
}

/** Scrolls so many times, and on until it is there. Answers how many elements one turn of the wheel added at most. */
async function scrolled(
  screens: number,
  by: number,
  isThere: () => Promise<boolean>,
): Promise<number> {
  const drawn: number[] = []
  await page.evaluate(`window.drawn = 0;
    window.watched = new MutationObserver((all) => {
      for (const { addedNodes } of all)
        for (const each of addedNodes)
          if (each instanceof Element) window.drawn += 1 + each.querySelectorAll('*').length
    });
    window.watched.observe(document.body, { childList: true, subtree: true })`)
  for (let n = 0; n < screens || !(await isThere()); n++) {
    await page.mouse.wheel(0, by)
    await quiet(page, 50)
    drawn.push(await page.evaluate<number>('[window.drawn, (window.drawn = 0)][0]'))
    expect(await nodes()).toBeLessThan(NODES_MAX)
  }
  await page.evaluate('window.watched.disconnect()')
  return Math.max(...drawn)
}

/** A message that can be read now, the first of them if none is named, and where it stands. */
function inSight(log: Locator, named?: string): Promise<{ text: string; top: number }> {
  return log.evaluate((box, named) => {
    const edge = box.getBoundingClientRect().top
    const told = [...box.querySelectorAll('*')].flatMap((each) => {
      const text = each.children.length === 0 ? (each.textContent ?? '') : ''
      return /^number \d+$/.test(text)
        ? [{ text, top: each.getBoundingClientRect().top - edge }]
        : []
    })
    const found = told.find(({ text, top }) => (named === undefined ? top >= 0 : text === named))
    if (found === undefined) throw new Error(`${named ?? 'no message'} is not there`)
    return found
  }, named)
}

test('first content waits for few answers in series, and for few bytes', async () => {
  const session = await cost(`/sessions/${KEY}`, `number ${EVENTS}`)
  const alarms = await cost('/schedule', 'Alarm 1')
  expect(session.rounds).toBeLessThanOrEqual(ROUNDS_MAX.session)
  expect(alarms.rounds).toBeLessThanOrEqual(ROUNDS_MAX.alarms)
  expect(Math.max(session.bytes, alarms.bytes)).toBeLessThan(DATA_BYTES_MAX)
  console.log(`first content: ${JSON.stringify({ session, alarms })}`)
})

test('50,000 alarms: opened, scrolled and searched with few elements', async () => {
  await opened('/schedule', 'Alarm 1')
  const first = page.getByRole('row').filter({ hasText: 'Alarm ' }).first()
  const drawn = await scrolled(12, 5_000, async () => {
    const [, number] = /Alarm (\d+)/.exec((await first.textContent()) ?? '') ?? []
    return Number(number) > 100
  })
  expect(drawn).toBeLessThan(DRAWN_MAX)
  await page.getByLabel('Search schedules').fill('needle')
  await page.getByText('The very first').waitFor()
  console.log(
    `alarms: at most ${drawn} elements drawn for a turn of the wheel, ${await nodes()} there`,
  )
  expect(visit.complaints).toEqual([])
})

test('a session of 5,000 events: the newest at once, older ones as one scrolls, with few elements', async () => {
  await opened(`/sessions/${KEY}`, `number ${EVENTS}`)
  const log = page.getByRole('log', { name: 'Messages' })
  // It opens at its end.
  expect(
    await log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight),
  ).toBeLessThan(150)
  await log.hover()
  const first = log.getByText(/^number \d+$/).first()
  const number = async () => Number((await first.textContent())?.slice('number '.length))
  const drawn = await scrolled(30, -4_000, async () => (await number()) < EVENTS - 300)
  expect(drawn).toBeLessThan(DRAWN_MAX)
  console.log(
    `session: at most ${drawn} elements drawn for a turn of the wheel, ${await nodes()} there, scrolled to ${await number()}`,
  )
  // What is said now comes in without moving whoever reads further up; nor do older ones that come in above.
  const before = await inSight(log)
  await post(`sessions/${KEY}/messages`, { text: 'one more' })
  await page
    .getByRole('region', { name: 'Record' })
    .getByText('one more', { exact: true })
    .waitFor()
  const after = await inSight(log, before.text)
  expect(Math.abs(after.top - before.top)).toBeLessThan(MOVED_MAX_PX)
  expect(visit.complaints).toEqual([])
})
