/**
 * The only reader of the environment. A pure function of the given variables: checked once,
 * crosswise, and a wrong value stops the start with one line that names the variable, what it got
 * and what it takes. Secrets are never repeated.
 */
import ipaddr from 'ipaddr.js'
import { callRefusal, isLoopback } from './core/address.ts'
import { KEY_PART } from './core/session.ts'
import { isWebhookSecret, SECRET_FORM } from './core/webhook.ts'

export const SERVICES = ['http', 'clock', 'turns', 'outbox'] as const
export type Service = (typeof SERVICES)[number]
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const DATABASE_URL = 'pglite:.wakeful/data'
const HOST = '127.0.0.1'
const PORT = 8787
const LEASE_MS = 30_000
const AUTONOMY_CONSECUTIVE_MAX = 3
const AUTONOMY_COOLDOWN_MS = 15_000
const TIMER_POLL_INTERVAL_MS = 250
const EFFECT_POLL_INTERVAL_MS = 100
const CHECKPOINTS_KEPT = 20
const TELEGRAM_API_ROOT = 'https://api.telegram.org'
const LANGFUSE_BASE_URL = 'https://cloud.langfuse.com'

const ADMIN_KEY_CHARACTERS_MIN = 32
/** A shorter lease could not be extended in time by its heartbeat. */
const LEASE_MS_MIN = 1_000
/** The longest delay that `setTimeout` takes; beyond it fires at once. */
const MS_MAX = 2_147_483_647

export interface Config {
  readonly databaseUrl: string
  readonly host: string
  readonly port: number
  readonly auth: 'open' | 'keys'
  readonly adminKey: string | null
  /** Path of the app's module, as given; null for the demo. */
  readonly app: string | null
  readonly services: readonly Service[]
  readonly wakeUrl: string | null
  readonly wakeToken: string | null
  /** `whsec_…`; null: one is made and kept in the database. */
  readonly webhookSecret: string | null
  readonly allowPrivateWebhooks: boolean
  readonly leaseMs: number
  readonly autonomy: {
    readonly enabled: boolean
    readonly consecutiveMax: number
    readonly cooldownMs: number
  }
  readonly timerPollIntervalMs: number
  readonly effectPollIntervalMs: number
  /** Checkpoints kept of each session. */
  readonly checkpointsKept: number
  /** Done events, turns and effects older than this are deleted; null keeps them. */
  readonly keepDays: number | null
  /** Null unless both keys are set. */
  readonly langfuse: {
    readonly publicKey: string
    readonly secretKey: string
    readonly baseUrl: string
  } | null
  readonly otlpEndpoint: string | null
  readonly model: {
    readonly url: string | null
    readonly key: string | null
    readonly name: string | null
  }
  /** Null unless a bot's token is set. */
  readonly telegram: {
    readonly token: string
    readonly apiRoot: string
    /** Who chats talk to where no session is named; null: the only agent there is. */
    readonly agentId: string | null
  } | null
  readonly logLevel: LogLevel
  readonly logFormat: 'json' | 'pretty'
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export function readConfig(env: NodeJS.ProcessEnv): Config {
  const read = new Reader(env)
  const config: Config = {
    databaseUrl:
      read.checked('DATABASE_URL', isDatabaseUrl, DATABASE_FORMS, 'secret') ?? DATABASE_URL,
    host: read.checked('HOST', isHost, 'an IP address or a host name') ?? HOST,
    port: read.whole('PORT', 0, 65_535, PORT),
    auth: readAuth(read),
    adminKey: read.checked('WAKEFUL_ADMIN_KEY', isAdminKey, ADMIN_KEY_FORM, 'secret'),
    app: read.text('WAKEFUL_APP'),
    services: readServices(read),
    wakeUrl: readWakeUrl(read),
    wakeToken: read.checked('WAKEFUL_WAKE_TOKEN', isToken, 'visible ASCII characters', 'secret'),
    webhookSecret: read.checked('WAKEFUL_WEBHOOK_SECRET', isWebhookSecret, SECRET_FORM, 'secret'),
    allowPrivateWebhooks: read.flag('WAKEFUL_ALLOW_PRIVATE_WEBHOOKS', false),
    leaseMs: read.whole('WAKEFUL_LEASE_MS', LEASE_MS_MIN, MS_MAX, LEASE_MS),
    autonomy: {
      enabled: read.flag('AUTONOMY_ENABLED', true),
      consecutiveMax: read.whole(
        'AUTONOMY_MAX_CONSECUTIVE',
        0,
        1_000_000,
        AUTONOMY_CONSECUTIVE_MAX,
      ),
      cooldownMs: read.whole('AUTONOMY_COOLDOWN_MS', 0, MS_MAX, AUTONOMY_COOLDOWN_MS),
    },
    timerPollIntervalMs: read.whole('TIMER_POLL_INTERVAL_MS', 1, MS_MAX, TIMER_POLL_INTERVAL_MS),
    effectPollIntervalMs: read.whole('EFFECT_POLL_INTERVAL_MS', 1, MS_MAX, EFFECT_POLL_INTERVAL_MS),
    checkpointsKept: read.whole('WAKEFUL_CHECKPOINTS_KEPT', 1, 1_000_000, CHECKPOINTS_KEPT),
    keepDays: readKeepDays(read),
    langfuse: readLangfuse(read),
    otlpEndpoint: read.checked('OTEL_EXPORTER_OTLP_ENDPOINT', isHttpUrl, HTTP_URL, 'secret'),
    model: {
      url: read.checked('WAKEFUL_MODEL_URL', isHttpUrl, HTTP_URL, 'secret'),
      key: read.text('WAKEFUL_MODEL_KEY'),
      name: read.text('WAKEFUL_MODEL'),
    },
    telegram: readTelegram(read),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS) ?? 'info',
    logFormat: read.oneOf('LOG_FORMAT', ['json', 'pretty']) ?? 'json',
  }
  if (read.wrong.length > 0) throw new ConfigError(read.wrong.join('; '))
  return config
}

/** Unset keeps everything; 0 would delete what people are still looking at. */
function readKeepDays(read: Reader): number | null {
  const days = read.whole('WAKEFUL_KEEP_DAYS', 1, 36_500, 0)
  return days === 0 ? null : days
}

/** Collects what is wrong, so that one start tells all of it. An empty variable counts as unset. */
class Reader {
  readonly wrong: string[] = []
  private readonly env: NodeJS.ProcessEnv

  constructor(env: NodeJS.ProcessEnv) {
    this.env = env
  }

  text(name: string): string | null {
    const value = this.env[name]?.trim()
    return value === undefined || value === '' ? null : value
  }

  checked(
    name: string,
    isRight: (value: string) => boolean,
    takes: string,
    kind: 'plain' | 'secret' = 'plain',
  ): string | null {
    const value = this.text(name)
    if (value === null || isRight(value)) return value
    this.refuse(name, kind === 'secret' ? 'another value (not shown)' : shown(value), takes)
    return null
  }

  whole(name: string, min: number, max: number, preset: number): number {
    const inRange = (value: string) => /^\d{1,15}$/.test(value) && +value >= min && +value <= max
    const value = this.checked(name, inRange, `a whole number from ${min} to ${max}`)
    return value === null ? preset : Number(value)
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | null {
    const value = this.text(name)
    const found = values.find((known) => known === value?.toLowerCase())
    if (value !== null && found === undefined) this.refuse(name, shown(value), values.join(', '))
    return found ?? null
  }

  flag(name: string, preset: boolean): boolean {
    const word = this.oneOf(name, ['true', 'false', '1', '0'])
    return word === null ? preset : word === 'true' || word === '1'
  }

  refuse(name: string, got: string, takes: string): void {
    this.wrong.push(`${name}: got ${got}, takes ${takes}`)
  }
}

const shown = (value: string) =>
  JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)

/** On loopback `open` unless said; beyond it only `keys`, and that has to be said. */
function readAuth(read: Reader): 'open' | 'keys' {
  const host = read.text('HOST') ?? HOST
  const given = read.oneOf('WAKEFUL_AUTH', ['open', 'keys'])
  if (given === 'keys' || isLoopback(host)) return given ?? 'open'
  // A wrong word has its own line already.
  if (given === 'open' || read.text('WAKEFUL_AUTH') === null) {
    const got = given === null ? 'nothing' : '"open"'
    read.refuse('WAKEFUL_AUTH', `${got} with HOST ${shown(host)}`, '"keys" beyond loopback')
  }
  return 'keys'
}

function readServices(read: Reader): readonly Service[] {
  const value = read.text('WAKEFUL_SERVICES')
  if (value === null || value.toLowerCase() === 'all') return SERVICES
  const names = value
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  const chosen = SERVICES.filter((service) => names.includes(service))
  if (names.every((name) => SERVICES.some((service) => service === name))) return chosen
  read.refuse('WAKEFUL_SERVICES', shown(value), `all, or some of ${SERVICES.join(',')}`)
  return SERVICES
}

function readWakeUrl(read: Reader): string | null {
  const url = read.checked('WAKEFUL_WAKE_URL', isHttpUrl, HTTP_URL, 'secret')
  if (url === null) return null
  const anywhere = /^(true|1)$/i.test(read.text('WAKEFUL_ALLOW_PRIVATE_WEBHOOKS') ?? '')
  const refusal = callRefusal(url, anywhere)
  if (refusal === null) return url
  const takes = 'a public address, or any with WAKEFUL_ALLOW_PRIVATE_WEBHOOKS=true'
  read.refuse('WAKEFUL_WAKE_URL', refusal, takes)
  return null
}

function readLangfuse(read: Reader): Config['langfuse'] {
  const publicKey = read.text('LANGFUSE_PUBLIC_KEY')
  const secretKey = read.text('LANGFUSE_SECRET_KEY')
  const baseUrl = read.checked('LANGFUSE_BASE_URL', isHttpUrl, HTTP_URL, 'secret')
  if (publicKey !== null && secretKey !== null) {
    return { publicKey, secretKey, baseUrl: baseUrl ?? LANGFUSE_BASE_URL }
  }
  const missing = publicKey === null ? 'LANGFUSE_PUBLIC_KEY' : 'LANGFUSE_SECRET_KEY'
  const other = publicKey === null ? 'LANGFUSE_SECRET_KEY' : 'LANGFUSE_PUBLIC_KEY'
  if (publicKey !== secretKey) read.refuse(missing, 'nothing', `a key, since ${other} is set`)
  return null
}

function readTelegram(read: Reader): Config['telegram'] {
  const isBot = (value: string) => /^\d{1,15}:[\w-]{20,100}$/.test(value)
  const token = read.checked('TELEGRAM_BOT_TOKEN', isBot, "a bot's token", 'secret')
  const apiRoot = read.checked('TELEGRAM_API_ROOT', isHttpUrl, HTTP_URL) ?? TELEGRAM_API_ROOT
  const isName = (value: string) => KEY_PART.test(value)
  const agentId = read.checked('TELEGRAM_AGENT', isName, 'the name of an agent')
  return token === null ? null : { token, apiRoot: apiRoot.replace(/\/+$/, ''), agentId }
}

const HTTP_URL = 'an http:// or https:// URL'
const DATABASE_FORMS = '"pglite:<directory>", "memory:" or "postgres://…"'
const ADMIN_KEY_FORM = `at least ${ADMIN_KEY_CHARACTERS_MIN} visible ASCII characters`

function isHttpUrl(value: string): boolean {
  return /^https?:\/\//i.test(value) && URL.canParse(value)
}

function isDatabaseUrl(value: string): boolean {
  if (value === 'memory:') return true
  if (value.startsWith('pglite:')) return value.length > 'pglite:'.length
  return /^postgres(?:ql)?:\/\//.test(value) && URL.canParse(value)
}

function isHost(value: string): boolean {
  return ipaddr.isValid(value) || /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i.test(value)
}

function isToken(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value)
}

function isAdminKey(value: string): boolean {
  return value.length >= ADMIN_KEY_CHARACTERS_MIN && isToken(value)
}

/** The environment of this process; nobody else reads it. */
export function environment(): NodeJS.ProcessEnv {
  return process.env
}
