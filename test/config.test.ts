import { describe, expect, test } from 'vitest'
import { readConfig } from '../src/app/packs.ts'
import { ConfigError } from '../src/config.ts'
import { withoutPassword } from '../src/core/variables.ts'
import { DEFAULT_LIMITS } from '../src/features/limits/rules.ts'

const whsec = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`

function refusal(env: NodeJS.ProcessEnv): string {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('accepted')
}

const PG = (host: string) => `postgres://u:p@${host}/w`

describe('readConfig', () => {
  test('an empty environment gives the defaults', () => {
    expect(readConfig({ PORT: '', LOG_LEVEL: ' ' })).toEqual({
      databaseUrl: 'pglite:.wakeful/data',
      schema: 'wakeful',
      shards: ['pglite:.wakeful/data'],
      host: '127.0.0.1',
      port: 8787,
      auth: 'open',
      adminKey: null,
      metricsAuth: 'open',
      oauth: null,
      origins: [],
      ratePerSecond: 200,
      trustProxy: null,
      app: null,
      services: ['http', 'clock', 'turns', 'outbox'],
      wakeUrl: null,
      wakeToken: null,
      webhookSecret: null,
      allowPrivateWebhooks: false,
      sources: { price: null, feeds: [], calendars: [] },
      mcpEvents: { publicUrl: null, wanted: [] },
      migrate: 'auto',
      // The machine's own, until a person's is known.
      timezone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
      alarmMaxFailures: 5,
      failureText: 'Sorry, something went wrong. Please try again.',
      sessionBacklog: 10_000,
      leaseMs: 30_000,
      limits: DEFAULT_LIMITS,
      autonomy: { enabled: true, consecutiveMax: 3, cooldownMs: 15_000 },
      timerPollIntervalMs: 250,
      effectPollIntervalMs: 100,
      checkpointsKept: 20,
      keepDays: null,
      archive: null,
      langfuse: null,
      otlpEndpoint: null,
      traceContent: false,
      logContent: false,
      model: { url: null, key: null, name: null },
      searchUrl: null,
      checksPromises: false,
      files: { kind: 'directory', path: '.wakeful/files' },
      slack: null,
      email: null,
      whatsapp: null,
      discord: null,
      webPush: null,
      telegram: null,
      logLevel: 'info',
      logFormat: 'json',
    })
  })

  test('takes everything it documents', () => {
    const config = readConfig({
      DATABASE_URL: 'postgresql://u:p@db/wakeful',
      HOST: '0.0.0.0',
      PORT: '0',
      WAKEFUL_AUTH: 'keys',
      WAKEFUL_ADMIN_KEY: 'k'.repeat(32),
      WAKEFUL_SERVICES: 'outbox, http',
      WAKEFUL_WAKE_URL: 'http://10.0.0.1/wake',
      WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true',
      WAKEFUL_WEBHOOK_SECRET: whsec(24),
      AUTONOMY_ENABLED: 'FALSE',
      LANGFUSE_PUBLIC_KEY: 'pk',
      LANGFUSE_SECRET_KEY: 'sk',
      WAKEFUL_FEEDS: 'https://a.example/f, http://10.0.0.1/g',
      WAKEFUL_CALENDARS: 'https://a.example/c.ics',
      WAKEFUL_PRICE_URL: 'https://a.example/{ticker}?k=1',
      WAKEFUL_PRICE_PATH: 'quote.price',
      LOG_FORMAT: 'pretty',
    })
    expect(config).toMatchObject({
      port: 0,
      auth: 'keys',
      services: ['http', 'outbox'],
      wakeUrl: 'http://10.0.0.1/wake',
      autonomy: { enabled: false },
      sources: {
        price: { url: 'https://a.example/{ticker}?k=1', path: 'quote.price' },
        feeds: ['https://a.example/f', 'http://10.0.0.1/g'],
        calendars: ['https://a.example/c.ics'],
      },
      langfuse: { baseUrl: 'https://cloud.langfuse.com' },
      logFormat: 'pretty',
    })
  })

  test.each<[NodeJS.ProcessEnv, string]>([
    [{ PORT: 'abc' }, 'PORT: got "abc", takes a whole number from 0 to 65535'],
    [{ PORT: '65536' }, 'PORT: got "65536", takes a whole number from 0 to 65535'],
    [{ PORT: '8e3' }, 'PORT: got "8e3", takes a whole number from 0 to 65535'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL: got "loud", takes fatal, error, warn, info'],
    [{ AUTONOMY_ENABLED: 'maybe' }, 'AUTONOMY_ENABLED: got "maybe", takes true, false, 1, 0'],
    [{ WAKEFUL_SERVICES: 'http,mail' }, 'takes all, or some of http,clock,turns,outbox'],
    [{ WAKEFUL_SERVICES: ',' }, 'WAKEFUL_SERVICES: got ","'],
    [{ WAKEFUL_LEASE_MS: '-1' }, 'WAKEFUL_LEASE_MS: got "-1"'],
    [{ HOST: 'not a host' }, 'HOST: got "not a host"'],
    [{ WAKEFUL_WAKE_URL: 'ftp://x' }, 'WAKEFUL_WAKE_URL: got another value'],
    [{ WAKEFUL_WAKE_URL: 'http://127.0.0.1:9/' }, 'the private address "127.0.0.1"'],
    [{ WAKEFUL_WAKE_URL: 'http://2130706433/' }, 'the private address "127.0.0.1"'],
    [{ WAKEFUL_WAKE_URL: 'http://[::ffff:10.0.0.1]/' }, 'the private address'],
    [{ WAKEFUL_WAKE_URL: 'http://169.254.169.254/' }, 'the private address'],
    [{ WAKEFUL_WAKE_URL: 'http://localhost/' }, 'the private address "localhost"'],
    [{ WAKEFUL_FEEDS: 'https://a.example/f,ftp://b' }, 'WAKEFUL_FEEDS: got another value'],
    [{ WAKEFUL_FEEDS: 'http://10.0.0.1/f' }, 'WAKEFUL_FEEDS: got the private address "10.0.0.1"'],
    [{ WAKEFUL_CALENDARS: 'http://localhost/c' }, 'WAKEFUL_CALENDARS: got the private address'],
    [{ WAKEFUL_PRICE_URL: 'https://a.example/' }, 'with {ticker} or {tickers} after the host'],
    [{ WAKEFUL_PRICE_URL: 'https://a.example/{ticker}' }, 'WAKEFUL_PRICE_PATH: got nothing'],
    [{ WAKEFUL_PRICE_PATH: 'a.b' }, 'WAKEFUL_PRICE_URL: got nothing'],
    [{ WAKEFUL_PRICE_PATH: 'a..b' }, 'WAKEFUL_PRICE_PATH: got "a..b"'],
    [
      { WAKEFUL_PRICE_URL: 'https://a.example/{tickers}', WAKEFUL_PRICE_PATH: 'p' },
      'takes a path with {ticker}',
    ],
    [
      { WAKEFUL_PRICE_URL: 'http://127.0.0.1/{ticker}', WAKEFUL_PRICE_PATH: 'p' },
      'WAKEFUL_PRICE_URL: got the private address',
    ],
    [{ LANGFUSE_PUBLIC_KEY: 'pk' }, 'LANGFUSE_SECRET_KEY: got nothing'],
    ...[
      'true',
      '33',
      '-1',
      '10.1',
      '10.0.0.0/33',
      '10.0.0.0/8/8',
      '::/129',
      '::ffff:10.0.0.0/104',
      '1,10.0.0.1',
      'proxy',
      '10.0.0.1,',
    ].map((WAKEFUL_TRUST_PROXY): [NodeJS.ProcessEnv, string] => [
      { WAKEFUL_TRUST_PROXY },
      `WAKEFUL_TRUST_PROXY: got "${WAKEFUL_TRUST_PROXY}", takes a number of proxies`,
    ]),
  ])('%j stops the start', (env, line) => {
    expect(refusal(env)).toContain(line)
    expect(refusal(env)).not.toContain('\n')
  })

  test.each(['0.0.0.0', '::', '192.168.1.4', 'example.com'])('%s needs keys', (HOST) => {
    expect(refusal({ HOST })).toContain(`got nothing with HOST "${HOST}", takes "keys"`)
    expect(refusal({ HOST, WAKEFUL_AUTH: 'open' })).toContain('got "open" with HOST')
    expect(readConfig({ HOST, WAKEFUL_AUTH: 'keys' }).auth).toBe('keys')
  })

  test.each(['localhost', '127.0.0.2', '::1'])('%s is loopback', (HOST) => {
    expect(readConfig({ HOST }).auth).toBe('open')
  })

  test.each<[string, unknown]>([
    ['0', null],
    ['2', 2],
    ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
  ])('WAKEFUL_TRUST_PROXY %s', (WAKEFUL_TRUST_PROXY, trustProxy) => {
    expect(readConfig({ WAKEFUL_TRUST_PROXY }).trustProxy).toEqual(trustProxy)
  })

  test('never repeats a secret', () => {
    const secrets = {
      DATABASE_URL: 'mysql://root:hunter2@db',
      WAKEFUL_ADMIN_KEY: 'hunter2',
      WAKEFUL_WAKE_TOKEN: 'hunter2 hunter2',
      WAKEFUL_WEBHOOK_SECRET: 'whsec_hunter2',
      WAKEFUL_FEEDS: 'feed://x/hunter2',
      WAKEFUL_PRICE_URL: 'https://x.example/?key=hunter2',
    }
    const line = refusal(secrets)
    expect(line).not.toContain('hunter2')
    for (const name of Object.keys(secrets)) expect(line).toContain(`${name}: got`)
  })

  test.each<[string, Record<string, string>, string[]]>([
    ['none said', {}, ['pglite:.wakeful/data']],
    ['one', { WAKEFUL_SHARDS: '1', DATABASE_URL: 'memory:' }, ['memory:']],
    ['so many at one place', { WAKEFUL_SHARDS: '2', DATABASE_URL: PG('a') }, [PG('a'), PG('a')]],
    ['a place for each', { WAKEFUL_SHARDS: `${PG('a')} ${PG('b')}` }, [PG('a'), PG('b')]],
    [
      'commas, hosts with commas',
      { WAKEFUL_SHARDS: `${PG('a,b')},${PG('c')}` },
      [PG('a,b'), PG('c')],
    ],
  ])('shards: %s', (_, env, shards) => {
    expect(readConfig(env)).toMatchObject({ shards, databaseUrl: shards[0] })
  })

  test.each<[string, Record<string, string>]>([
    ['none at all', { WAKEFUL_SHARDS: '0' }],
    ['several embedded', { WAKEFUL_SHARDS: '2', DATABASE_URL: 'memory:' }],
    ['too many', { WAKEFUL_SHARDS: '257', DATABASE_URL: PG('a') }],
    ['no URLs', { WAKEFUL_SHARDS: 'hunter2' }],
    ['another first place', { WAKEFUL_SHARDS: PG('a'), DATABASE_URL: PG('b') }],
  ])('shards are refused: %s', (_, env) => {
    const line = refusal(env)
    expect(line).toMatch(/^(WAKEFUL_SHARDS|DATABASE_URL): got/)
    expect(line).not.toContain('hunter2')
  })

  test('files go to a directory, a bucket, or nowhere for long', () => {
    const keys = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' }
    expect(readConfig({ DATABASE_URL: 'memory:' }).files).toEqual({ kind: 'temporary' })
    expect(readConfig({ WAKEFUL_FILES: '/var/lib/files' }).files).toEqual({
      kind: 'directory',
      path: '/var/lib/files',
    })
    expect(readConfig({ WAKEFUL_FILES: 's3://my-bucket/a/b/', ...keys }).files).toEqual({
      kind: 's3',
      bucket: 'my-bucket',
      prefix: 'a/b',
      region: 'us-east-1',
      endpoint: 'https://s3.us-east-1.amazonaws.com',
      credentials: { accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: null },
    })
    const local = { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9000', AWS_REGION: 'eu-west-1' }
    expect(readConfig({ WAKEFUL_FILES: 's3://my-bucket', ...keys, ...local }).files).toMatchObject({
      prefix: '',
      region: 'eu-west-1',
      endpoint: 'http://127.0.0.1:9000',
    })
  })

  test.each<[NodeJS.ProcessEnv, string]>([
    [{ WAKEFUL_FILES: 's3://B/x' }, 'WAKEFUL_FILES: got "s3://B/x", takes a directory, or s3://'],
    [{ WAKEFUL_FILES: 's3://bucket/../x' }, 'WAKEFUL_FILES: got'],
    [{ WAKEFUL_FILES: 'https://x/y' }, 'WAKEFUL_FILES: got'],
    [{ WAKEFUL_FILES: 's3://bucket' }, 'AWS_SECRET_ACCESS_KEY: got nothing'],
    [{ WAKEFUL_FILES: 's3://bucket', AWS_ENDPOINT_URL_S3: 'http://u:hunter2@x' }, 'not shown'],
    [{ WAKEFUL_FILES: 's3://bucket', AWS_REGION: 'a b' }, 'AWS_REGION: got "a b"'],
  ])('%j is no place for files', (env, line) => {
    expect(refusal(env)).toContain(line)
    expect(refusal(env)).not.toContain('hunter2')
  })

  test('the webhook secret has 24 to 64 bytes', () => {
    for (const bytes of [23, 65]) {
      expect(refusal({ WAKEFUL_WEBHOOK_SECRET: whsec(bytes) })).toContain('24 to 64 bytes')
    }
    expect(readConfig({ WAKEFUL_WEBHOOK_SECRET: whsec(64) }).webhookSecret).toBe(whsec(64))
  })

  test('Telegram is on with a token, which is never repeated', () => {
    const token = '123456:AAE-0123456789_0123456789'
    expect(readConfig({ TELEGRAM_BOT_TOKEN: token }).telegram).toEqual({
      token,
      apiRoot: 'https://api.telegram.org',
      agentId: null,
    })
    const own = { TELEGRAM_API_ROOT: 'http://127.0.0.1:8081/', TELEGRAM_AGENT: 'companion' }
    expect(readConfig({ TELEGRAM_BOT_TOKEN: token, ...own }).telegram).toEqual({
      token,
      apiRoot: 'http://127.0.0.1:8081',
      agentId: 'companion',
    })
    const wrong = refusal({ TELEGRAM_BOT_TOKEN: 'sesame', TELEGRAM_AGENT: 'a:b' })
    expect(wrong).not.toContain('sesame')
    expect(wrong).toMatch(/TELEGRAM_BOT_TOKEN: got .*TELEGRAM_AGENT: got "a:b"/)
  })
})

describe('the address of a database in a log', () => {
  test.each([
    ['postgres://u:p@host/w', 'postgres://u:***@host/w'],
    ['postgres://u:p%40:@x@host:5432/w?a=1', 'postgres://u:***@host:5432/w?a=1'],
    ['postgresql://host/w?user=u&password=p&a=1', 'postgresql://host/w?user=u&password=***&a=1'],
    ['postgres://u@host/w', 'postgres://u@host/w'],
    ['pglite:.wakeful/data', 'pglite:.wakeful/data'],
    ['memory:', 'memory:'],
  ])('%s is shown as %s', (url, shown) => {
    expect(withoutPassword(url)).toBe(shown)
  })
})
