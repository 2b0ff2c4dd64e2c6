/** What browser tests of the console do again and again: call the API, wait for an outcome, count clicks. */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { until } from '../setup/until.ts'
import type { Stage } from './stage.ts'

export const WIDE = { width: 1440, height: 900 }
export const NARROW = { width: 390, height: 844 }

/** Calls the API and expects it to be done. */
export async function call<T = unknown>(
  stage: Stage,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const answer = await fetch(`${stage.url}/v1/${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  expect(answer.status, `${method} ${path}: ${text}`).toBeLessThan(300)
  return (text === '' ? undefined : JSON.parse(text)) as T
}

export const say = (stage: Stage, key: string, text: string) =>
  call(stage, 'POST', `sessions/${key}/messages`, { text })

export const schedule = (stage: Stage, name: string, body: object) =>
  call<{ id: string; kind: string }>(stage, 'PUT', `schedules/${encodeURIComponent(name)}`, body)

interface Listed {
  readonly data: readonly { readonly outcome: string; readonly id: string }[]
}

/** Until the newest entry of a person has come to this. Its id. */
export async function outcomeOf(stage: Stage, user: string, outcome: string): Promise<string> {
  const newest = async () =>
    (await call<Listed>(stage, 'GET', `ledger?user_id=${user}&limit=1`)).data[0]
  await until(`${user} has an entry that is ${outcome}`, async () => {
    return (await newest())?.outcome === outcome
  })
  return (await newest())?.id ?? ''
}

/** Counts what is clicked from now on, until the page is loaded again. */
export async function countClicks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(`window.clicks = 0
    addEventListener('click', ({ isTrusted, detail }) => {
      // A label hands its click on to its field.
      if (isTrusted && detail > 0) window.clicks++
    }, true)`)
  return () => page.evaluate<number>('window.clicks')
}
