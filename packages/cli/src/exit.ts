/**
 * How a command ends. 0 success, 1 failure, 2 usage error, 3 not found, 4 the server refused,
 * 5 the server is away.
 */

import { ConfigError } from '../../../src/config.ts'
import { errorText } from '../../../src/core/errors.ts'
import { WakefulError } from '../../client/src/index.ts'

export const EXIT = { ok: 0, wrong: 1, usage: 2, notFound: 3, refused: 4, away: 5 } as const

/** The command line itself is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** No server answers where one was looked for. */
export class AwayError extends Error {
  override readonly name = 'AwayError'
}

export function exitCode(error: unknown): number {
  if (error instanceof UsageError || error instanceof ConfigError) return EXIT.usage
  if (error instanceof AwayError) return EXIT.away
  if (!(error instanceof WakefulError)) return EXIT.wrong
  const { status } = error
  if (status === 0 || (status >= 502 && status <= 504)) return EXIT.away
  if (status === 404) return EXIT.notFound
  return status >= 400 && status < 500 ? EXIT.refused : EXIT.wrong
}

/** One line, and one for each reason. */
export function errorLines(error: unknown): string[] {
  if (!(error instanceof WakefulError)) return [errorText(error)]
  const { title, errors, status, requestId } = error
  const asked = status >= 500 && requestId !== null ? [`  request id ${requestId}`] : []
  const [only, ...others] = errors
  if (only !== undefined && others.length === 0) return [`${title}: ${only}`, ...asked]
  return [title, ...errors.map((each) => `  ${each}`), ...asked]
}
