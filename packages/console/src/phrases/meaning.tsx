/** The answer to a phrase: what it means, or why it is refused and what would work. */
import { Problem } from '../api/http.ts'
import type { Preview } from '../api/shapes.ts'
import { useNow } from '../parts/clock.ts'
import { Badge, Button } from '../parts/parts.tsx'
import { fromNow, whenIn } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { reasonsIn, suggestionsIn } from './suggestions.ts'

const KINDS: Readonly<Record<Preview['kind'], string>> = {
  once: 'once',
  cron: 'recurring',
  every: 'interval',
}

export function Meaning({ preview }: { preview: Preview }) {
  const now = useNow()
  const { description, canonical, kind, timezone, next, notes = [] } = preview
  return (
    <section aria-label="Meaning" className="rounded-xl border border-line bg-panel p-5">
      <div className="flex items-start justify-between gap-3">
        <p className="text-lg font-semibold first-letter:uppercase">{description}</p>
        <Badge tone="good">{KINDS[kind]}</Badge>
      </div>
      <p className="mt-2 text-sm text-muted">
        Canonical form:{' '}
        <code className="rounded bg-sunk px-1.5 py-0.5 font-mono text-ink wrap-anywhere">
          {canonical}
        </code>
      </p>
      {notes.map((note) => (
        <p key={note} className="mt-2 text-sm text-own">
          Note: {note}
        </p>
      ))}
      <h2 className="mt-5 mb-1 text-sm font-semibold">{kind === 'once' ? 'When' : 'Next times'}</h2>
      {next.length === 0 ? (
        <p className="text-sm text-muted">No time lies ahead.</p>
      ) : (
        <ol className="divide-y divide-line text-sm">
          {next.map((at) => (
            <li key={at} className="flex flex-wrap justify-between gap-x-4 py-2">
              <time dateTime={at}>{whenIn(at, timezone)}</time>
              <span className="text-muted">{fromNow(at, now)}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}

/** The server names phrases that work, in quotes; here they can be picked. */
export function Refused({ error, onPick }: { error: Error; onPick: (phrase: string) => void }) {
  if (!(error instanceof Problem) || error.status !== 400) return <Trouble error={error} />
  const reasons = reasonsIn(error)
  const suggestions = suggestionsIn(error)
  return (
    <div role="alert" className="rounded-xl bg-bad-soft p-5">
      <p className="font-semibold text-bad">Not understood</p>
      <ul className="mt-1 text-sm wrap-anywhere">
        {reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
      {suggestions.length > 0 && (
        <>
          <p className="mt-4 mb-2 text-sm">Phrases that work:</p>
          <ul className="flex flex-wrap gap-2">
            {suggestions.map((phrase) => (
              <li key={phrase}>
                <Button onClick={() => onPick(phrase)}>{phrase}</Button>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
