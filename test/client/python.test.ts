/** The package in Python: its own tests, and its client against a running server. Nothing but the standard library. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../src/root.ts'
import { live } from '../sessions/live.ts'
import { PYTHON } from '../setup/python.ts'
import { eachStore } from '../setup/stores.ts'

const HOME = join(ROOT, 'packages/python')
const ADMIN_KEY = 'python-admin-0123456789abcdef0123456789'
const run = promisify(execFile)

async function passes(module: string, env: Record<string, string> = {}): Promise<void> {
  const PYTHONPATH = [join(HOME, 'src'), join(HOME, 'tests')].join(
    process.platform === 'win32' ? ';' : ':',
  )
  const quiet = { PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1' }
  // Without site packages: what is not in the standard library is not found.
  const { stderr } = await run(PYTHON, ['-S', '-m', 'unittest', module], {
    env: { ...process.env, ...quiet, ...env },
  })
  expect(stderr).toMatch(/\nOK\n$/)
}

it('imports the standard library alone', () => {
  const known =
    /^(?:__future__|asyncio|base64|binascii|hashlib|hmac|inspect|json|threading|time|collections|dataclasses|datetime|typing|urllib)$/
  for (const name of readdirSync(join(HOME, 'src/wakeful')).filter((each) =>
    each.endsWith('.py'),
  )) {
    const text = readFileSync(join(HOME, 'src/wakeful', name), 'utf8')
    for (const [, module = ''] of text.matchAll(/^(?:from|import) (\w+)/gm))
      expect(module, name).toMatch(known)
  }
})

describe.skipIf(PYTHON === '')('in Python', () => {
  it('verify and handle_turn keep what they promise', () => passes('test_remote'))

  eachStore('the client', (store) => {
    const at = live(
      store,
      { bot: (turn) => turn.say('hello') },
      { WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: ADMIN_KEY },
    )
    it('sets, lists, changes and removes, and raises refusals', () =>
      passes('test_client', { WAKEFUL_URL: at().url, WAKEFUL_KEY: ADMIN_KEY }))
  })
})
