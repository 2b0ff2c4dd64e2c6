/** When? In words, with what they mean and the next times, as one types. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Problem, request } from '../api/http.ts'
import type { Preview } from '../api/shapes.ts'
import { useNow, useSettled } from '../parts/clock.ts'
import { Badge, Button } from '../parts/parts.tsx'
import { fromNow, whenIn } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { TextField, ZoneField } from './fields.tsx'
import { reasonsIn, suggestionsIn } from './suggestions.ts'

const DEBOUNCE_MS = 180

export type Spelling = 'schedule' | 'frequency' | 'cron_expr'

interface Props {
  readonly id: string
  readonly label: string
  /** As which field the phrase will be sent. */
  readonly spelling: Spelling
  readonly phrase: string
  readonly zone: string
  readonly onPhrase: (phrase: string) => void
  readonly onZone: (zone: string) => void
  readonly examples: readonly string[]
  readonly fault?: string | undefined
  readonly zoneFault?: string | undefined
  /** In a narrow place: the zone below. */
  readonly stacked?: boolean
}

export function PhraseField(props: Props) {
  const { id, phrase, zone, examples, onPhrase } = props
  const preview = usePreview(props.spelling, phrase, zone)
  const { error } = preview
  const zoneRefused = error instanceof Problem && error.errors[0]?.startsWith('timezone:')
  return (
    <div className="flex flex-col gap-3">
      <div
        className={`grid grid-cols-1 gap-3 ${props.stacked ? '' : 'sm:grid-cols-[minmax(0,1fr)_14rem]'}`}
      >
        <TextField
          id={id}
          label={props.label}
          value={phrase}
          onChange={onPhrase}
          placeholder={examples[0] ?? ''}
          maxLength={256}
          fault={error === null || zoneRefused ? props.fault : reasonOf(error)}
        />
        <ZoneField
          id={`${id}-zone`}
          value={zone}
          onChange={props.onZone}
          fault={zoneRefused ? 'is not an IANA time zone, such as Europe/Berlin' : props.zoneFault}
        />
      </div>
      <div aria-live="polite">
        {phrase.trim() === '' ? (
          <Suggestions title="For example:" phrases={examples} onPick={onPhrase} />
        ) : error !== null && !(error instanceof Problem && error.status === 400) ? (
          <Trouble error={error} />
        ) : error !== null ? (
          <Suggestions title="These work:" phrases={suggestionsIn(error)} onPick={onPhrase} />
        ) : (
          preview.data !== undefined && <Times preview={preview.data} />
        )}
      </div>
    </div>
  )
}

function reasonOf(error: Error): string {
  return reasonsIn(error).join('; ') || error.message
}

/** Answers to what was typed before are dropped: the query's signal aborts their requests. */
function usePreview(spelling: Spelling, phrase: string, zone: string) {
  const asked = useSettled(phrase.trim(), DEBOUNCE_MS)
  const askedZone = useSettled(zone.trim(), DEBOUNCE_MS)
  return useQuery({
    queryKey: ['preview', spelling, asked, askedZone],
    queryFn: ({ signal }) =>
      request<Preview>('v1/schedules/preview', {
        method: 'POST',
        body: { [spelling]: asked, timezone: askedZone },
        signal,
      }),
    enabled: asked !== '',
    placeholderData: keepPreviousData,
  })
}

function Times({ preview }: { preview: Preview }) {
  const now = useNow()
  const { description, canonical, timezone, next, notes = [] } = preview
  return (
    <section aria-label="Meaning" className="rounded-lg bg-sunk px-4 py-3 text-[13px]">
      <p className="flex flex-wrap items-center gap-2">
        <span className="font-medium first-letter:uppercase">{description}</span>
        <Badge>{canonical}</Badge>
      </p>
      {notes.map((note) => (
        <p key={note} className="mt-1 text-own">
          Note: {note}
        </p>
      ))}
      <ol className="mt-2 flex flex-col gap-1 text-muted">
        {next.map((at) => (
          <li key={at}>
            <time dateTime={at}>{whenIn(at, timezone)}</time>, {fromNow(at, now)}
          </li>
        ))}
        {next.length === 0 && preview.kind !== 'once' && <li>No time lies ahead.</li>}
      </ol>
    </section>
  )
}

interface SuggestionProps {
  readonly title: string
  readonly phrases: readonly string[]
  readonly onPick: (phrase: string) => void
}

function Suggestions({ title, phrases, onPick }: SuggestionProps) {
  if (phrases.length === 0) return null
  return (
    <div className="flex flex-wrap items-center gap-2 text-[13px]">
      <span className="text-muted">{title}</span>
      {phrases.map((phrase) => (
        <Button key={phrase} className="min-h-8 px-2.5" onClick={() => onPick(phrase)}>
          {phrase}
        </Button>
      ))}
    </div>
  )
}
