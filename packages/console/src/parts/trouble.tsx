/** An error, and what to do about it. */
import { Problem } from '../api/http.ts'
import { Button } from './parts.tsx'

function adviceFor(status: number): string {
  if (status === 0)
    return 'Is it still running? Start it with "npm start". This page tries again by itself.'
  if (status === 401) return 'Sign in with a valid key.'
  if (status === 403)
    return 'Your key does not allow this. Sign in with another key; the current one is named above "Sign out".'
  if (status === 404) return 'Check the address, or go back to the list it came from.'
  if (status === 429 || status === 503)
    return 'The server is busy or starting. Try again in a moment.'
  if (status >= 500) return "The server's log says more. Try again; nothing you wrote is lost."
  return 'Change what the lines above name, and try again.'
}

interface Props {
  readonly error: Error
  readonly onRetry?: () => void
  /** What to do, where it is not what is usual for such an error. */
  readonly advice?: string
  /** Above something else that has no distance of its own. */
  readonly spaced?: boolean
}

export function Trouble({ error, onRetry, advice, spaced = false }: Props) {
  const problem = error instanceof Problem ? error : new Problem(500, error.message, [])
  return (
    <div
      role="alert"
      className={`rounded-lg bg-bad-soft px-4 py-3 text-[13px] ${spaced ? 'mb-4' : ''}`}
    >
      <p className="font-semibold text-bad">{problem.title}</p>
      {problem.errors.length > 0 && (
        <ul className="mt-1 list-disc pl-5 wrap-anywhere">
          {problem.errors.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      <p className="mt-1 text-ink">{advice ?? adviceFor(problem.status)}</p>
      {onRetry !== undefined && (
        <Button className="mt-2" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}
