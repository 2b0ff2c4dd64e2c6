/** The command line as people and programs use it: what it prints, where, and how it ends. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { folder } from '../process/server.ts'
import { type Live, openLive } from '../sessions/live.ts'
import { eachStore } from '../setup/stores.ts'
import { type RunOptions, wakeful } from './stage.ts'

let house: Live
beforeAll(async () => {
  house = await openLive('memory:', {
    bot: (turn) => {
      if (turn.event.type === 'user_message')
        turn.say(`heard ${(turn.event.payload as { text: string }).text}`)
      else turn.say('\u001B[31mgood morning\u001B[0m')
    },
  })
})
afterAll(() => house.app.stop())

const run = (args: string, options: RunOptions & { more?: string[] } = {}) =>
  wakeful([...args.split(' '), ...(options.more ?? [])], {
    ...options,
    env: { WAKEFUL_URL: house.url, ...options.env },
  })

/** A colour, or any other command to a terminal. */
const ESCAPE = '\u001B'

describe('alarms', () => {
  it('are set by phrase, listed, shown and cancelled, in words', async () => {
    const set = await run('alarms create', { more: ['every day at 9am', '--message', 'stand up'] })
    expect(set).toMatchObject({ code: 0, stderr: '' })
    expect(set.stdout).toMatch(/^Alarm set: every day at 09:00 .*Next: .*, in \d+ .*[0-9a-f-]{36}/)
    const id = /[0-9a-f-]{36}/.exec(set.stdout)?.[0] ?? ''
    const list = await run('alarms list')
    expect(list.stdout).toMatch(/^ID +STATUS +NEXT +WHEN +AGENT/)
    expect(list.stdout).toMatch(new RegExp(`^${id} +active +in .* bot .*stand up$`, 'm'))
    expect(list.stdout).not.toContain(ESCAPE)
    const show = await run(`alarms show ${id}`)
    expect(show.stdout).toMatch(/^wake_message +stand up$/m)
    expect(show.stdout).toMatch(/^next_fire_at +\S+Z \(in .*\)$/m)
    const cancelled = await run(`alarms cancel ${id}`)
    expect(cancelled).toMatchObject({ code: 0 })
    expect(cancelled.stdout).toContain(`Alarm is cancelled and will not fire. Its id was ${id}`)
  })

  it('come as the API writes them with --json, digit for digit (rule 5)', async () => {
    const payload = '{"n":12345678901234567890,"z":1.50,"a":1E2}'
    const set = await run('alarms create --cron @hourly --message x --json --payload', {
      more: [payload],
    })
    expect(set.code).toBe(0)
    expect(set.stdout.trim().split('\n')).toHaveLength(1)
    expect(set.stdout).toContain(`"payload":${payload}`)
    expect(JSON.parse(set.stdout)).toMatchObject({ kind: 'cron', cron_expr: '@hourly' })
    const data = await run('alarms create --json --data -', {
      input: `{"schedule":"in 20 minutes","wake_message":"y","payload":${payload}}`,
    })
    expect(data.stdout).toContain(`"payload":${payload}`)
    const list = await run('alarms list --json --limit 1')
    const page = JSON.parse(list.stdout)
    expect(page.data).toHaveLength(1)
    expect(page.next_cursor).toEqual(expect.any(String))
    const all = JSON.parse((await run('alarms list --json --limit 1 --all')).stdout)
    expect(all.data.length).toBeGreaterThan(1)
    expect(all.next_cursor).toBeNull()
    expect((await run('alarms list --limit 1')).stderr).toContain('there are more: --all')
  })

  it('belong to whom --as says', async () => {
    const more = ['in 20 minutes', '--message', 'hers', '--as', 'ann']
    expect(await run('alarms create', { more })).toMatchObject({ code: 0 })
    expect((await run('alarms list --as ann')).stdout).toContain('hers')
    expect(await run('alarms list --as nobody-else')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'no alarms\n',
    })
  })
})

describe('sessions', () => {
  it('are spoken to and looked into', async () => {
    const sent = await run('sessions send ann:bot:one', { more: ['hello there', '--id', 'm1'] })
    expect(sent).toMatchObject({ code: 0, stdout: 'event 1 of ann:bot:one\n' })
    expect(await run('sessions send ann:bot:one', { more: ['other', '--id', 'm1'] })).toMatchObject(
      {
        code: 4,
        stdout: '',
      },
    )
    expect((await run('sessions events ann:bot:one')).stdout).toMatch(
      /1 +user_message .*hello there/,
    )
    expect((await run('sessions list')).stdout).toContain('ann:bot:one')
    expect(JSON.parse((await run('sessions show ann:bot:one --json')).stdout)).toMatchObject({
      session_key: 'ann:bot:one',
      gate: { allowed: true },
    })
    for (const verb of ['turns', 'effects', 'timers'])
      expect((await run(`sessions ${verb} ann:bot:one --json`)).code).toBe(0)
  })

  it('talk in a pipe: each line is said, each answer shown, and then it ends', async () => {
    const talk = await run('chat ann:bot:two', { input: 'one\n\ntwo\n/quit\nnever said\n' })
    expect(talk).toMatchObject({ code: 0, stdout: 'bot> heard one\nbot> heard two\n', stderr: '' })
    const json = await run('chat ann:bot:two --json', { input: 'three\n' })
    expect(JSON.parse(json.stdout)).toMatchObject({
      content: 'heard three',
      unasked: false,
      in_reply_to: 3,
    })
  })

  it('show what came unasked, without letting it steer the terminal', async () => {
    const more = ['--in-seconds', '1', '--message', 'now', '--conversation', 'three', '--as', 'ann']
    const set = await run('alarms create --json', { more })
    await run(`alarms fire-now ${JSON.parse(set.stdout).id}`)
    const talk = await run('chat ann:bot:three', { input: 'hello\n' })
    expect(talk.stdout).toContain('bot (unasked, alarm)> \uFFFD[31mgood morning\uFFFD[0m\n')
    expect(talk.stdout).not.toContain(ESCAPE)
  })
})

describe('with keys', () => {
  let guarded: Live
  const KEY = 'a-key-of-more-than-thirty-two-characters'
  beforeAll(async () => {
    const env = { WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: KEY }
    guarded = await openLive('memory:', { bot: (turn) => turn.say('welcome') }, env)
  })
  afterAll(() => guarded.app.stop())

  it('is let in with the right one, by variable or flag, also to a conversation', async () => {
    const env = { WAKEFUL_URL: guarded.url, WAKEFUL_KEY: KEY }
    expect(await wakeful(['alarms', 'list'], { env })).toMatchObject({ code: 0 })
    const talk = await wakeful(['chat', 'ann:bot:x', '--url', guarded.url, '--key', KEY], {
      input: 'hello\n',
    })
    expect(talk).toMatchObject({ code: 0, stdout: 'bot> welcome\n' })
  })

  it('is refused without, and told how to say who asks, without a word of the key', async () => {
    const env = { WAKEFUL_URL: guarded.url, WAKEFUL_KEY: 'another-key-that-is-wrong' }
    for (const args of [['alarms', 'list'], ['chat', 'ann:bot:x'], ['doctor']]) {
      const ran = await wakeful(args, { env, input: 'hello\n' })
      expect(ran.code, ran.stderr).toBe(args[0] === 'doctor' ? 1 : 4)
      expect(ran.stdout + ran.stderr).toMatch(/Bearer|--key/)
      expect(ran.stdout + ran.stderr).not.toContain('another-key')
    }
  })
})

describe('how it ends', () => {
  const RUBBISH: [string, number, RegExp][] = [
    ['nonsense', 2, /unknown command/],
    ['alarms', 2, /Usage: wakeful alarms/],
    ['alarms show', 2, /missing required argument 'id'/],
    ['alarms list --nonsense', 2, /unknown option/],
    ['alarms list --limit many', 2, /--limit: takes a number, got "many"/],
    ['alarms create --message x --payload {', 2, /--payload: takes JSON/],
    ['alarms create --data @/no/such/file', 2, /--data: cannot be read/],
    ['alarms list --url ftp://x', 2, /--url takes an http/],
    ['alarms show ../../healthz', 3, /no such id/],
    ['alarms show 00000000-0000-0000-0000-000000000000', 3, /there is no alarm/],
    ['alarms create', 4, /--message: is required\n {2}body.kind: is required/],
    ['alarms list --status wrong', 4, /--status: must be one of/],
    ['alarms list --limit 0', 4, /--limit: must be/],
    ['sessions show not-a-key', 4, /must be user:agent:thread/],
    ['chat ann:nobody:x', 3, /is there an agent "nobody"/],
    ['chat ann:bot:x --wait soon', 2, /--wait takes/],
    ['preview --count 0 daily', 2, /--count takes/],
    ['preview banana', 4, /banana/],
    [
      'alarms list --url http://127.0.0.1:9',
      5,
      /start one with "wakeful serve", or .* WAKEFUL_URL/,
    ],
    ['chat ann:bot:x --url http://127.0.0.1:9', 5, /start one with "wakeful serve"/],
  ]
  it.each(RUBBISH)('%s: %i', async (args, code, words) => {
    const ran = await run(args)
    expect(ran.code, ran.stderr).toBe(code)
    expect(ran.stdout).toBe('')
    expect(ran.stderr).toMatch(words)
    expect(ran.stderr).not.toMatch(/\n\s+at /)
  })

  it('helps, and tells its version', async () => {
    const help = await wakeful(['--help'])
    expect(help).toMatchObject({ code: 0, stderr: '' })
    for (const name of ['alarms', 'sessions', 'serve', 'migrate', 'doctor', 'chat', 'preview'])
      expect(help.stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'))
    expect((await wakeful(['doctor', '--help'])).stdout).toContain('--json')
    expect((await wakeful(['help', 'chat'])).stdout).toContain('<session_key>')
    expect((await wakeful(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

eachStore('migrate down', (store) => {
  it('deletes nothing unless --yes is said, also where nobody could be asked', async () => {
    const embedded = `pglite:${join(folder(), 'data')}`
    const env = { DATABASE_URL: store.name === 'pglite' ? embedded : await store.database() }
    const migrate = (args: string) => wakeful(['migrate', ...args.split(' ')], { env })
    expect(await migrate('up')).toMatchObject({ code: 0 })
    const before = await migrate('status')
    const refused = await migrate('down')
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain('say --yes')
    expect(await migrate('status')).toEqual(before)
    expect(await migrate('down --yes')).toMatchObject({ code: 0 })
    expect((await migrate('status')).stdout).not.toBe(before.stdout)
  })
})
