/** `wakeful schedule`: all kinds by name, from the command line. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Live, openLive } from '../sessions/live.ts'
import { wakeful } from './stage.ts'

let server: Live
beforeAll(async () => {
  server = await openLive('memory:', { bot: () => undefined })
})
afterAll(() => server.app.stop())

const run = (...args: string[]) =>
  wakeful(['schedule', ...args], { env: { WAKEFUL_URL: server.url } })

const KINDS = {
  timer: ['--in', '2 hours', '--cancel-on-reply'],
  alarm: ['--every', 'day at 9am', '--data', '{"n":1.50}'],
  intent: ['--when', '{"price":"NVDA","below":130}'],
  work: ['--every', 'day at 9am', '--run', 'reporting'],
}

it('sets, lists, pauses, resumes, runs and cancels every kind by its name', async () => {
  for (const [name, when] of Object.entries(KINDS)) {
    const set = await run('set', name, ...when, '--note', `note of ${name}`)
    expect(set).toMatchObject({ code: 0, stderr: '' })
    expect(set.stdout).toContain(`"${name}" is set`)
    expect((await run('pause', name)).stdout).toContain('was paused; it is paused')
  }
  const list = await run('list', '--status', 'paused')
  expect(list.stdout).toMatch(/^REF +KIND +STATUS +NEXT +WHEN/)
  for (const name of Object.keys(KINDS))
    expect(list.stdout).toMatch(new RegExp(`^${name} +${name} +paused`, 'm'))
  for (const name of Object.keys(KINDS)) {
    expect((await run('resume', name)).stdout).toContain('was resumed')
    if (name !== 'timer') expect((await run('run', name)).code).toBe(0)
    expect((await run('cancel', name)).stdout).toContain('It was removed')
  }
  expect((await run('cancel', 'alarm')).code).not.toBe(0)
  expect((await run('set', 'x', '--at', 'often')).stderr).toContain('phrases that work')
})
