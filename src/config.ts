/**
 * The only reader of the environment, a pure function of the variables. A wrong value stops the start with one line that names the
 * variable, what it got and what it takes. Secrets are never repeated.
 */
import { isZone } from '../packages/schedule/src/index.ts'
import { MAX_FAILURES, MAX_FAILURES_MAX } from './core/backoff.ts'
import {
  isLoopback,
  isPrivateHost,
  readTrustProxy,
  TRUST_PROXY_FORM,
  type TrustProxy,
} from './core/calls/address.ts'
import { isWebhookSecret, SECRET_FORM } from './core/calls/signature.ts'
import { SHARDS_MAX } from './core/session.ts'
import {
  ADMIN_KEY_CHARACTERS_MIN,
  HTTP_URL,
  isAdminKey,
  isDatabaseUrl,
  isEndpoint,
  isHost,
  isHttpUrl,
  isOwner,
  isSchema,
  isToken,
  Reader,
  readUsd,
  SCHEMA_FORM,
  shown,
  USD_FORM,
} from './core/variables.ts'
import { ORIGINS } from './features/limits/lineage.ts'
import { DEFAULT_LIMITS, type Limits } from './features/limits/rules.ts'
import type { FilesSettings } from './files/open.ts'

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
const FAILURE_TEXT = 'Sorry, something went wrong. Please try again.'
const TIMER_POLL_INTERVAL_MS = 250
const EFFECT_POLL_INTERVAL_MS = 100
const CHECKPOINTS_KEPT = 20
const SESSION_BACKLOG = 10_000
const FILES = '.wakeful/files'
const S3_REGION = 'us-east-1'
/** Asked by one key, on average; twice as much at once. */
const RATE_PER_SECOND = 200
const LANGFUSE_BASE_URL = 'https://cloud.langfuse.com'

const DATABASE_FORMS = '"pglite:<directory>", "memory:" or "postgres://…"'
/** A URL may have commas of its own, between hosts. */
const BETWEEN_URLS = /[\s,]+(?=postgres(?:ql)?:)/
const SHARDS_FORM = `a number from 1 to ${SHARDS_MAX} (above 1 with a DATABASE_URL of "postgres://…"), or that many "postgres://…" with spaces between`
const ADMIN_KEY_FORM = `at least ${ADMIN_KEY_CHARACTERS_MIN} visible ASCII characters`
const OWNER_FORM = 'a user id or did:matrix:<user>:<16 hex digits>'
// Plain letters only: the prefix is part of every key and of the XML that lists them.
const S3_PLACE =
  /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/((?:[\w-][\w.-]*\/)*[\w-][\w.-]*))?\/?$/
const FILES_FORM = 'a directory, or s3://<bucket> or s3://<bucket>/<prefix>'
const ENDPOINT_FORM = 'an http:// or https:// URL without a query'

/** A shorter lease could not be extended in time by its heartbeat. */
const LEASE_MS_MIN = 1_000
/** The longest delay that `setTimeout` takes; beyond it fires at once. */
const MS_MAX = 2_147_483_647

export interface Config {
  /** Of people whose own nobody knows. */
  readonly timezone: string
  /** Where the first shard is, and everything where there is one. */
  readonly databaseUrl: string
  /** Where each shard is, by its number. */
  readonly shards: readonly string[]
  readonly schema: string
  readonly host: string
  readonly port: number
  readonly auth: 'open' | 'keys'
  readonly adminKey: string | null
  /** `keys`: `/metrics` wants a key of role admin or service. */
  readonly metricsAuth: 'open' | 'keys'
  /** The identity provider whose tokens are taken beside keys; null: none. */
  readonly oauth: {
    readonly issuer: string
    readonly audience: string
    /** Null: the one that the issuer's metadata names. */
    readonly jwksUrl: string | null
  } | null
  /** Pages that may open sockets here though they come from elsewhere. */
  readonly origins: readonly string[]
  readonly ratePerSecond: number
  readonly trustProxy: TrustProxy
  /** Whether a start brings the schema up, or refuses where something is missing. */
  readonly migrate: 'auto' | 'check'
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
  /** For runaways, by person and agent. */
  readonly limits: Limits
  /** Attempts at a wake of alarms that do not say. */
  readonly alarmMaxFailures: number
  /** Events of one session that may wait. */
  readonly sessionBacklog: number
  /** Said to a person when a turn over their message fails for good; empty: nothing. */
  readonly failureText: string
  readonly timerPollIntervalMs: number
  readonly effectPollIntervalMs: number
  /** Checkpoints kept of each session. */
  readonly checkpointsKept: number
  /** Done events, turns and effects older than this are deleted; null keeps them. */
  readonly keepDays: number | null
  /** Receives what is about to be deleted for its age; null: nothing does. */
  readonly archive: FilesSettings | null
  /** Null unless both keys are set. */
  readonly langfuse: {
    readonly publicKey: string
    readonly secretKey: string
    readonly baseUrl: string
  } | null
  readonly otlpEndpoint: string | null
  /** Whether spans and log lines may hold the texts of messages. */
  readonly traceContent: boolean
  readonly logContent: boolean
  /** Where files of runs are kept. */
  readonly files: FilesSettings
  readonly logLevel: LogLevel
  readonly logFormat: 'json' | 'pretty'
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** `more` reads what is not the kernel's own. */
export function readVariables<S extends object>(
  env: NodeJS.ProcessEnv,
  more: (read: Reader) => S,
): Config & S {
  const read = new Reader(env)
  const config = { ...readOwn(read), ...more(read) }
  if (read.wrong.length > 0) throw new ConfigError(read.wrong.join('; '))
  return config
}

function readOwn(read: Reader): Config {
  return {
    ...readShards(read),
    schema: read.checked('WAKEFUL_SCHEMA', isSchema, SCHEMA_FORM) ?? 'wakeful',
    host: read.checked('HOST', isHost, 'an IP address or a host name') ?? HOST,
    port: read.whole('PORT', 0, 65_535, PORT),
    auth: readAuth(read),
    adminKey: read.checked('WAKEFUL_ADMIN_KEY', isAdminKey, ADMIN_KEY_FORM, 'secret'),
    metricsAuth: read.oneOf('WAKEFUL_METRICS_AUTH', ['open', 'keys']) ?? 'open',
    oauth: readOauth(read),
    origins: readOrigins(read),
    ratePerSecond: read.whole('WAKEFUL_RATE_PER_SECOND', 1, 1_000_000, RATE_PER_SECOND),
    trustProxy: read.parsed('WAKEFUL_TRUST_PROXY', readTrustProxy, TRUST_PROXY_FORM) ?? null,
    timezone: read.checked('WAKEFUL_TIMEZONE', isZone, 'an IANA time zone') ?? machineZone(),
    migrate: read.oneOf('WAKEFUL_MIGRATE', ['auto', 'check']) ?? 'auto',
    app: read.text('WAKEFUL_APP'),
    services: readServices(read),
    wakeUrl: read.outgoingUrl('WAKEFUL_WAKE_URL'),
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
    limits: readLimits(read),
    alarmMaxFailures: read.whole('WAKEFUL_MAX_FAILURES', 1, MAX_FAILURES_MAX, MAX_FAILURES),
    failureText: read.given('WAKEFUL_FAILURE_TEXT') ?? FAILURE_TEXT,
    sessionBacklog: read.whole('WAKEFUL_SESSION_BACKLOG', 1, 1_000_000, SESSION_BACKLOG),
    timerPollIntervalMs: read.whole('TIMER_POLL_INTERVAL_MS', 1, MS_MAX, TIMER_POLL_INTERVAL_MS),
    effectPollIntervalMs: read.whole('EFFECT_POLL_INTERVAL_MS', 1, MS_MAX, EFFECT_POLL_INTERVAL_MS),
    checkpointsKept: read.whole('WAKEFUL_CHECKPOINTS_KEPT', 1, 1_000_000, CHECKPOINTS_KEPT),
    keepDays: readKeepDays(read),
    archive: readPlace(read, 'WAKEFUL_ARCHIVE'),
    langfuse: readLangfuse(read),
    otlpEndpoint: read.checked('OTEL_EXPORTER_OTLP_ENDPOINT', isHttpUrl, HTTP_URL, 'secret'),
    traceContent: read.flag('WAKEFUL_TRACE_CONTENT', false),
    logContent: read.flag('LOG_CONTENT', false),
    files: readFiles(read),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS) ?? 'info',
    logFormat: read.oneOf('LOG_FORMAT', ['json', 'pretty']) ?? 'json',
  }
}

/** Nothing for calls and money: not limited. */
function readLimits(read: Reader): Limits {
  const { depthMax, pendingMax, firesMax } = DEFAULT_LIMITS
  const most = (name: string, usual: number) => read.whole(name, 1, 1_000_000_000, usual)
  const origins = (read.text('WAKEFUL_REFUSE_ORIGINS') ?? '').toLowerCase().split(',')
  const named = origins.map((origin) => origin.trim()).filter((origin) => origin !== '')
  const refusedOrigins = ORIGINS.filter((each) => named.includes(each) || named.includes('all'))
  const unknown = named.find((name) => name !== 'all' && !ORIGINS.some((each) => each === name))
  if (unknown !== undefined)
    read.refuse('WAKEFUL_REFUSE_ORIGINS', shown(unknown), `all, or some of ${ORIGINS.join(',')}`)
  const calls = most('WAKEFUL_CALLS_A_DAY', 0)
  return {
    depthMax: most('WAKEFUL_DEPTH_MAX', depthMax),
    pendingMax: most('WAKEFUL_PENDING_MAX', pendingMax),
    firesMax: most('WAKEFUL_FIRES_A_DAY', firesMax),
    callsMax: calls === 0 ? null : calls,
    usdMax: read.parsed('WAKEFUL_USD_A_DAY', readUsd, USD_FORM) ?? null,
    refusedOrigins,
  }
}

/** Where this machine is said to be. A zone that is no name, such as an offset, is UTC. */
function machineZone(): string {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  return isZone(zone) ? zone : 'UTC'
}

/** One place for all, so many shards at that one place, or a place for each. */
function readShards(read: Reader): Pick<Config, 'databaseUrl' | 'shards'> {
  const given = read.checked('DATABASE_URL', isDatabaseUrl, DATABASE_FORMS, 'secret')
  const wanted = read.text('WAKEFUL_SHARDS') ?? '1'
  const count = /^\d{1,4}$/.test(wanted) ? Number(wanted) : null
  const shards =
    count === null
      ? wanted.split(BETWEEN_URLS)
      : Array.from({ length: count }, () => given ?? DATABASE_URL)
  const [databaseUrl = DATABASE_URL] = shards
  const fits = shards.length >= 1 && shards.length <= SHARDS_MAX
  const servers = count === 1 || shards.every((url) => /^postgres(ql)?:/.test(url))
  if (!fits || !servers || !shards.every(isDatabaseUrl))
    read.refuse('WAKEFUL_SHARDS', 'another value (not shown)', SHARDS_FORM)
  else if (count === null && given !== null && given !== databaseUrl)
    read.refuse('DATABASE_URL', 'another place', 'the first of WAKEFUL_SHARDS, or nothing')
  return { databaseUrl, shards: fits ? shards : [databaseUrl] }
}

/** For commands that can work on a running server instead of a database of their own. */
export function readRemote(env: NodeJS.ProcessEnv): {
  readonly url: string | null
  readonly key: string | null
  /** The owner to act for. */
  readonly actAs: string | null
} {
  const read = new Reader(env)
  const remote = {
    url: read.checked('WAKEFUL_URL', isHttpUrl, HTTP_URL, 'secret'),
    key: read.checked('WAKEFUL_KEY', isToken, 'visible ASCII characters', 'secret'),
    actAs: read.checked('WAKEFUL_ACT_AS', isOwner, OWNER_FORM),
  }
  if (read.wrong.length > 0) throw new ConfigError(read.wrong.join('; '))
  return remote
}

/** Unset keeps everything; 0 would delete what people are still looking at. */
function readKeepDays(read: Reader): number | null {
  const days = read.whole('WAKEFUL_KEEP_DAYS', 1, 36_500, 0)
  return days === 0 ? null : days
}

/** On loopback `open` by default; beyond it only `keys`, and that must be set. */
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

function readFiles(read: Reader): FilesSettings {
  const place = readPlace(read, 'WAKEFUL_FILES')
  if (place !== null) return place
  return read.text('DATABASE_URL') === 'memory:'
    ? { kind: 'temporary' }
    : { kind: 'directory', path: FILES }
}

/** A directory; or `s3://bucket/prefix` with the variables that every S3 client reads. */
function readPlace(read: Reader, name: string): FilesSettings | null {
  const place = read.text(name)
  if (place === null) return null
  if (!/^[a-z][a-z0-9+.-]+:/i.test(place)) return { kind: 'directory', path: place }
  const [, bucket, prefix = ''] = S3_PLACE.exec(place) ?? []
  if (bucket === undefined) read.refuse(name, shown(place), FILES_FORM)
  const needed = (key: string) => {
    const value = read.checked(key, isToken, 'visible ASCII characters', 'secret')
    if (read.text(key) === null) read.refuse(key, 'nothing', `a key, since ${name} is s3://`)
    return value ?? ''
  }
  const region =
    read.checked(
      'AWS_REGION',
      (value) => /^[a-z0-9-]{1,64}$/.test(value),
      'a region such as eu-central-1',
    ) ?? S3_REGION
  const endpoint = read.checked('AWS_ENDPOINT_URL_S3', isEndpoint, ENDPOINT_FORM, 'secret')
  return {
    kind: 's3',
    bucket: bucket ?? '',
    prefix,
    region,
    endpoint: endpoint ?? `https://s3.${region}.amazonaws.com`,
    credentials: {
      accessKeyId: needed('AWS_ACCESS_KEY_ID'),
      secretAccessKey: needed('AWS_SECRET_ACCESS_KEY'),
      sessionToken: read.checked(
        'AWS_SESSION_TOKEN',
        isToken,
        'visible ASCII characters',
        'secret',
      ),
    },
  }
}

/** Issuer and audience, or neither: a token for somebody else, or from anybody, must not be accepted. */
function readOauth(read: Reader): Config['oauth'] {
  // Compared with the token's claim character by character, so it stays as it was written.
  const issuer = read.outgoingUrl('WAKEFUL_OAUTH_ISSUER') && read.text('WAKEFUL_OAUTH_ISSUER')
  const audience = read.text('WAKEFUL_OAUTH_AUDIENCE')
  const jwksUrl = read.outgoingUrl('WAKEFUL_OAUTH_JWKS_URL')
  const names = ['WAKEFUL_OAUTH_ISSUER', 'WAKEFUL_OAUTH_AUDIENCE'] as const
  if ([...names, 'WAKEFUL_OAUTH_JWKS_URL'].every((name) => read.text(name) === null)) return null
  for (const name of ['WAKEFUL_OAUTH_ISSUER', 'WAKEFUL_OAUTH_JWKS_URL']) {
    const url = URL.parse(read.text(name) ?? 'https://none')
    if (url?.protocol === 'http:' && !isPrivateHost(url.hostname))
      read.refuse(name, 'an http:// URL', 'https:// beyond private addresses')
  }
  for (const name of names)
    if (read.text(name) === null)
      read.refuse(name, 'nothing', 'a value, since tokens are taken only with issuer and audience')
  return issuer === null || audience === null ? null : { issuer, audience, jwksUrl }
}

function readOrigins(read: Reader): readonly string[] {
  const given = (read.text('WAKEFUL_ORIGINS') ?? '').toLowerCase().split(',')
  const origins = given.map((origin) => origin.trim()).filter((origin) => origin !== '')
  const wrong = origins.find((origin) => !/^https?:\/\/[^/\s]+$/.test(origin))
  if (wrong !== undefined)
    read.refuse('WAKEFUL_ORIGINS', shown(wrong), 'origins such as https://app.example, with commas')
  return origins
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

/** The environment of this process; nobody else reads it. */
export function environment(): NodeJS.ProcessEnv {
  return process.env
}
