/** What would a phrase mean, and when would it fire? Asked as one types; nothing is stored. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../api/http.ts'
import type { Preview } from '../api/shapes.ts'
import { useSettled } from '../parts/clock.ts'
import { Button, Empty, Field, Heading } from '../parts/parts.tsx'
import { Meaning, Refused } from './meaning.tsx'

const DEBOUNCE_MS = 180
const TIMES = 5
const EXAMPLES = [
  'every weekday at 8:30',
  'in 20 minutes',
  'tomorrow at 9am',
  'last day of each month at 17:00',
  'every 6 hours',
  '0 9 * * 1-5',
]
const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone')]

export function TryPage() {
  const [phrase, setPhrase] = useState('')
  const [zone, setZone] = useState(HERE)
  const asked = useSettled(phrase.trim(), DEBOUNCE_MS)
  const askedZone = useSettled(zone.trim(), DEBOUNCE_MS)
  const preview = useQuery({
    queryKey: ['preview', asked, askedZone],
    queryFn: ({ signal }) =>
      request<Preview>('v1/schedules/preview', {
        method: 'POST',
        body: { schedule: asked, timezone: askedZone, count: TIMES },
        signal,
      }),
    enabled: asked !== '',
    placeholderData: keepPreviousData,
  })
  const refused = preview.error !== null && asked !== ''
  const zoneRefused = refused && preview.error.message.startsWith('timezone:')
  return (
    <>
      <Heading title="Try a phrase">
        Alarms and recurring work take plain English or cron. See here what a phrase means before an
        agent acts on it.
      </Heading>
      <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-2 lg:grid-rows-[auto_1fr]">
        <div className="flex flex-col gap-4">
          <Field
            id="phrase"
            label="Phrase"
            value={phrase}
            onChange={(event) => setPhrase(event.target.value)}
            placeholder="every weekday at 8:30"
            autoComplete="off"
            aria-invalid={refused && !zoneRefused}
            className="text-lg"
          />
          <Field
            id="zone"
            label="Time zone"
            value={zone}
            onChange={(event) => setZone(event.target.value)}
            list="zones"
            aria-invalid={zoneRefused}
            autoComplete="off"
            hint="An IANA name such as Europe/Berlin; daylight saving is taken into account."
          />
          <datalist id="zones">
            {ZONES.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </div>
        <div aria-live="polite" className="min-w-0 lg:row-span-2">
          {asked === '' ? (
            <Empty title="Type a phrase">
              Its meaning, its canonical form and the next times appear here as you type.
            </Empty>
          ) : preview.error !== null ? (
            <Refused error={preview.error} onPick={setPhrase} />
          ) : preview.data !== undefined ? (
            <Meaning preview={preview.data} />
          ) : (
            <p className="text-muted">Reading …</p>
          )}
        </div>
        <Examples onPick={setPhrase} />
      </div>
    </>
  )
}

function Examples({ onPick }: { onPick: (phrase: string) => void }) {
  return (
    <div>
      <p className="mb-2 text-sm text-muted">Or start from one of these:</p>
      <ul className="flex flex-wrap gap-2">
        {EXAMPLES.map((example) => (
          <li key={example}>
            <Button onClick={() => onPick(example)}>{example}</Button>
          </li>
        ))}
      </ul>
    </div>
  )
}
