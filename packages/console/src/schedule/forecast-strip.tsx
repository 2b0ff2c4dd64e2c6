/** How far a forecast is, and its sum. */
import { Badge, Button } from '../parts/parts.tsx'
import { ProgressBar } from '../parts/progress.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { type ForecastState, PEOPLE_MAX } from './forecast.ts'
import type { Forecast } from './played.ts'

export function ForecastStrip({ state, people }: { state: ForecastState; people: number }) {
  const { done, of, forecasts, error, isRunning } = state
  const sum = (part: keyof Forecast['totals']) =>
    forecasts.reduce((total, { totals }) => total + totals[part], 0)
  return (
    <section
      aria-label="Forecast"
      className="mb-3 rounded-lg border border-line bg-panel px-4 py-3 text-[13px]"
    >
      {isRunning ? (
        <ProgressBar
          label="Progress of the forecast"
          words={`Forecasting: ${done} of ${of} ${of === 1 ? 'person' : 'people'}`}
          share={of === 0 ? null : done / of}
        />
      ) : (
        <p role="status" className="flex flex-wrap items-center gap-2">
          <span className="font-medium">
            The next 14 days
            {forecasts.length === 1 && ` of ${forecasts[0]?.user_id}`}:
          </span>
          <Badge tone="good">{sum('said')} sent</Badge>
          <Badge tone="own">{sum('deferred')} deferred</Badge>
          <Badge tone="own">{sum('gathered')} gathered</Badge>
          <Badge>{sum('dropped')} dropped</Badge>
          <span className="text-muted">Played on a copy. Nothing is stored or sent.</span>
        </p>
      )}
      {people > PEOPLE_MAX && (
        <p className="mt-1 text-muted">
          The first {PEOPLE_MAX} of {people} people. Choose a person to see theirs.
        </p>
      )}
      {forecasts.flatMap(({ notes, user_id }) =>
        notes.map((note) => (
          <p key={`${user_id} ${note}`} className="mt-1 text-muted">
            {user_id}: {note}
          </p>
        )),
      )}
      {forecasts
        .filter(({ cut }) => cut !== null)
        .map(({ user_id }) => (
          <p key={user_id} className="mt-1 text-own">
            The forecast of {user_id} ends early: it reached its limit.
          </p>
        ))}
      {error !== null && <Trouble error={error} />}
    </section>
  )
}

interface ToggleProps {
  readonly on: boolean
  readonly onChange: (on: boolean) => void
}

export function ForecastToggle({ on, onChange }: ToggleProps) {
  return (
    <Button
      aria-pressed={on}
      onClick={() => onChange(!on)}
      className="aria-pressed:border-accent aria-pressed:text-accent"
    >
      Forecast 14 days
    </Button>
  )
}
