/** Whatever was thrown, as a refusal that any door can render. */

import { JsonError } from '../../packages/exact-json/src/index.ts'
import { Refusal } from '../core/errors.ts'
import { isUnavailable } from '../store/db.ts'

/** Unknown errors become `internal` without a word of theirs: it could hold SQL, a path, a secret. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof JsonError) {
    return error.kind === 'syntax'
      ? new Refusal('malformed', `body: ${error.message}`)
      : new Refusal('shape', `body: ${error.message}`)
  }
  if (isUnavailable(error)) {
    return new Refusal('unavailable', 'the database is unreachable; try again soon', {
      cause: error,
    })
  }
  return new Refusal('internal', 'the error was logged under this request id', { cause: error })
}
