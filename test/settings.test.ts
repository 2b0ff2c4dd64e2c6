/** docs/settings.md and the code: the same variables, the same defaults. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../src/app/packs.ts'
import { readRemote } from '../src/config.ts'

const PAGE = readFileSync(new URL('../docs/settings.md', import.meta.url), 'utf8')
const ROW = /^\| `(?<name>[A-Z0-9_]+)` \| (?:–|`(?<preset>[^`]+)`) \|/gm
const rows = [...PAGE.matchAll(ROW)].map(({ groups }) => ({
  name: groups?.name ?? '',
  preset: groups?.preset,
}))

/** Everything that has settings of its own is switched on, so that none is passed over. */
const FULL = {
  TELEGRAM_BOT_TOKEN: `1:${'x'.repeat(30)}`,
  SLACK_BOT_TOKEN: 'xoxb-1',
  EMAIL_SMTP_URL: 'smtp://mail.example',
  EMAIL_FROM: 'agent@a.example',
  WHATSAPP_TOKEN: 'x',
  WHATSAPP_PHONE_ID: 'x',
  WHATSAPP_APP_SECRET: 'x',
  WHATSAPP_VERIFY_TOKEN: 'x',
  DISCORD_BOT_TOKEN: 'x',
  LANGFUSE_PUBLIC_KEY: 'pk',
  LANGFUSE_SECRET_KEY: 'sk',
  WAKEFUL_FILES: 's3://bucket',
  AWS_ACCESS_KEY_ID: 'id',
  AWS_SECRET_ACCESS_KEY: 'secret',
}

function variablesRead(): Set<string> {
  const read = new Set<string>()
  const watched = new Proxy<NodeJS.ProcessEnv>(FULL, {
    get: (env, name) => {
      read.add(String(name))
      return env[String(name)]
    },
  })
  readConfig(watched)
  readRemote(watched)
  return read
}

describe('docs/settings.md', () => {
  it('lists every variable that is read, once, and no other', () => {
    expect(rows.map(({ name }) => name).sort()).toEqual([...variablesRead()].sort())
  })

  it.each(rows.filter(({ preset }) => preset !== undefined))(
    '$name is $preset unless set',
    ({ name, preset = '' }) => {
      const unset = { ...FULL, [name]: undefined }
      expect(readConfig({ ...unset, [name]: preset })).toEqual(readConfig(unset))
    },
  )

  it('has a default for every number and switch', () => {
    const none = rows.filter(({ preset }) => preset === undefined).map(({ name }) => name)
    const numbers = none.filter((name) => {
      const takesNumbers = refusal({ ...FULL, [name]: '-1' })
      return /whole number|true, false/.test(takesNumbers)
    })
    // Unset, calls are not limited and everything is kept.
    expect(numbers.sort()).toEqual(['WAKEFUL_CALLS_A_DAY', 'WAKEFUL_KEEP_DAYS'])
  })
})

function refusal(env: NodeJS.ProcessEnv): string {
  try {
    readConfig(env)
    return ''
  } catch (error) {
    return String(error)
  }
}
