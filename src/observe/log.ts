/** Log lines: JSON for programs, or with LOG_FORMAT=pretty one readable line each for people on a terminal. */
import pino, { type DestinationStream, type Logger } from 'pino'
import type { Config } from '../config.ts'

const STDERR = 2
const COLOURS: Readonly<Record<string, number>> = {
  warn: 33,
  error: 31,
  fatal: 31,
  debug: 90,
  trace: 90,
}
const GREY = 90
/** Whatever a field is called, a credential in it is not for the log. */
const SECRETS = ['authorization', 'password', 'secret', 'token', 'key', 'api_key', 'cookie']
const HIDDEN = SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])

type LogConfig = Pick<Config, 'logLevel' | 'logFormat'>

/** `out` stands for stderr in tests. */
export function createLog(
  { logLevel, logFormat }: LogConfig,
  out: DestinationStream = pino.destination({ fd: STDERR, sync: false }),
  colours = logFormat === 'pretty' && process.stderr.isTTY,
): Logger {
  return pino(
    {
      level: logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      redact: { paths: HIDDEN, censor: '[hidden]' },
      serializers: { err: pino.stdSerializers.err },
    },
    logFormat === 'json' ? out : { write: (line: string) => out.write(pretty(line, colours)) },
  )
}

/** `12:04:09.123 info turn committed  session_key=… ms=3.1` */
export function pretty(line: string, colours: boolean): string {
  const { level, time, msg = '', err, ...fields } = JSON.parse(line) as Record<string, unknown>
  const paint = (code: number | undefined, text: string) =>
    colours && code !== undefined ? `\x1b[${code}m${text}\x1b[0m` : text
  const at = String(time).slice('yyyy-mm-ddT'.length, -1)
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`)
  const head = `${paint(GREY, at)} ${paint(COLOURS[String(level)], String(level).padEnd(5))} ${clean(String(msg))}`
  const stack = (err as { stack?: unknown } | undefined)?.stack
  const trail = typeof stack === 'string' ? `\n${stack.split('\n').map(clean).join('\n')}` : ''
  return `${head}${rest.length === 0 ? '' : `  ${paint(GREY, rest.join(' '))}`}${trail}\n`
}

function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@+-]+$/.test(value)) return value
  return clean(JSON.stringify(value))
}

/** What others wrote must not steer somebody's terminal. */
function clean(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to take out
  return text.replace(/[\x00-\x1f\x7f-\x9f]/g, ' ')
}
