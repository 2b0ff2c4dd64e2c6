/** Why did it write, or not? Every slot with its outcome and its reason, for a person and a span of time. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { serverNow } from '../api/http.ts'
import { LEDGER_KINDS, type LedgerKind, OUTCOMES, type Outcome, readLedger } from '../api/ledger.ts'
import { seesAll, useMe } from '../frame/me.ts'
import { useSettled } from '../parts/clock.ts'
import { KIND_NAMES, outcomeLabel } from '../parts/outcome.tsx'
import { Button, Empty, FIELD, Heading } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { Entry } from './entry.tsx'

const PAGE_ROWS = 50
const LOOK_MS = 4_000
const DEBOUNCE_MS = 250
const HOUR = 3_600_000
const SPANS = {
  hour: { label: 'Last hour', ms: HOUR },
  day: { label: 'Last 24 hours', ms: 24 * HOUR },
  week: { label: 'Last 7 days', ms: 7 * 24 * HOUR },
  all: { label: 'All time', ms: null },
} as const
type Span = keyof typeof SPANS | 'own'

interface Filter {
  readonly person: string
  readonly span: Span
  /** Of `own`: what the two fields hold, in the reader's own zone. */
  readonly from: string
  readonly to: string
  readonly kind: LedgerKind | ''
  readonly outcome: Outcome | ''
}

export function WhyPage({ outcome }: { outcome?: string | undefined }) {
  const known = OUTCOMES.find((each) => each === outcome) ?? ''
  const [filter, setFilter] = useState<Filter>({
    person: '',
    span: 'day',
    from: '',
    to: '',
    kind: '',
    outcome: known,
  })
  /** Where each page before this one began; empty on the first. */
  const [trail, setTrail] = useState<readonly string[]>([])
  const change = (part: Partial<Filter>) => {
    setFilter({ ...filter, ...part })
    setTrail([])
  }
  const asked = useSettled(filter, DEBOUNCE_MS)
  const cursor = trail.at(-1)
  const { data, error, refetch } = useQuery({
    queryKey: ['ledger', 'why', asked, cursor ?? null],
    queryFn: ({ signal }) => readLedger({ ...queryOf(asked), limit: PAGE_ROWS, cursor }, signal),
    // Newer slots push older pages along, so only the first is looked at again.
    refetchInterval: cursor === undefined ? LOOK_MS : false,
    placeholderData: keepPreviousData,
  })
  const next = data?.next_cursor ?? null
  return (
    <>
      <Heading title="Why">
        Why did the agent write, or not? Every time something came due, with what became of it and
        the rule or the error behind it.
      </Heading>
      <Filters filter={filter} onChange={change} />
      <div className="mt-4 flex flex-col gap-3">
        {error !== null && <Trouble error={error} onRetry={() => void refetch()} />}
        {data === undefined && error === null && <p className="text-muted">Loading …</p>}
        {data?.data.length === 0 && next === null && trail.length === 0 && (
          <Nothing filtered={asked.person !== '' || asked.kind !== '' || asked.outcome !== ''} />
        )}
        {data !== undefined && data.data.length > 0 && (
          <ul
            aria-label="Slots"
            className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-panel"
          >
            {data.data.map((entry) => (
              <Entry key={entry.id} entry={entry} />
            ))}
          </ul>
        )}
        {data?.data.length === 0 && next !== null && (
          <p className="text-sm text-muted">
            None among those looked at so far; older ones follow.
          </p>
        )}
        {(next !== null || trail.length > 0) && (
          <nav aria-label="Pages" className="flex items-center gap-2">
            <Button disabled={trail.length === 0} onClick={() => setTrail(trail.slice(0, -1))}>
              Newer
            </Button>
            <Button
              disabled={next === null}
              onClick={() => next !== null && setTrail([...trail, next])}
            >
              Older
            </Button>
            <span className="text-sm text-muted">Page {trail.length + 1}</span>
          </nav>
        )}
      </div>
    </>
  )
}

function queryOf({ person, span, from, to, kind, outcome }: Filter) {
  const given = {
    user_id: person.trim() || undefined,
    trigger: kind || undefined,
    outcome: outcome || undefined,
  }
  if (span === 'own') return { ...given, from: instantOf(from), to: instantOf(to) }
  const { ms } = SPANS[span]
  return { ...given, from: ms === null ? undefined : new Date(serverNow() - ms).toISOString() }
}

function instantOf(local: string): string | undefined {
  const at = Date.parse(local)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

function Filters(props: { filter: Filter; onChange: (part: Partial<Filter>) => void }) {
  const { filter, onChange } = props
  const all = seesAll(useMe())
  return (
    <form
      aria-label="Filter"
      onSubmit={(event) => event.preventDefault()}
      className="grid grid-cols-2 gap-3 md:grid-cols-4"
    >
      {all && (
        <label className="text-sm max-md:col-span-2">
          <span className="mb-1 block font-medium">Person</span>
          <input
            type="search"
            value={filter.person}
            onChange={(event) => onChange({ person: event.target.value })}
            placeholder="everybody"
            autoComplete="off"
            spellCheck={false}
            className={`${FIELD} py-2.25`}
          />
        </label>
      )}
      <Choice
        label="When"
        value={filter.span}
        onChoose={(span) => onChange({ span: span as Span })}
        options={[
          ...Object.entries(SPANS).map(([value, { label }]) => [value, label] as const),
          ['own', 'From … to …'],
        ]}
      />
      <Choice
        label="Trigger"
        value={filter.kind}
        onChoose={(kind) => onChange({ kind: kind as LedgerKind | '' })}
        options={[['', 'All'], ...LEDGER_KINDS.map((kind) => [kind, KIND_NAMES[kind]] as const)]}
      />
      <Choice
        label="Outcome"
        wide
        value={filter.outcome}
        onChoose={(outcome) => onChange({ outcome: outcome as Outcome | '' })}
        options={[['', 'All'], ...OUTCOMES.map((each) => [each, outcomeLabel(each)] as const)]}
      />
      {filter.span === 'own' && (
        <>
          <When label="From" value={filter.from} onChange={(from) => onChange({ from })} />
          <When label="To" value={filter.to} onChange={(to) => onChange({ to })} />
        </>
      )}
    </form>
  )
}

function Choice(props: {
  label: string
  value: string
  options: readonly (readonly [string, string])[]
  onChoose: (value: string) => void
  /** On a small screen the only one in its row. */
  wide?: boolean
}) {
  return (
    <label className={`text-sm ${props.wide ? 'max-md:col-span-2' : ''}`}>
      <span className="mb-1 block font-medium">{props.label}</span>
      <select
        value={props.value}
        onChange={(event) => props.onChoose(event.target.value)}
        className={`${FIELD} py-2.5`}
      >
        {props.options.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  )
}

function When(props: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <label className="text-sm max-md:col-span-2">
      <span className="mb-1 block font-medium">{props.label}</span>
      <input
        type="datetime-local"
        value={props.value}
        onChange={(event) => props.onChange(event.target.value)}
        className={FIELD}
      />
    </label>
  )
}

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered)
    return (
      <Empty title="Nothing of this kind">
        Nothing that came due in this span fits the filter. Look at a longer span, or at all
        outcomes.
      </Empty>
    )
  return (
    <Empty title="Nothing has come due yet">
      When a timer, alarm, intent or work comes due, it is written here whether or not a message
      came of it: delivered, held back by a rule, condition not met, failed. The same is at{' '}
      <code className="font-mono text-[0.9em]">GET /v1/ledger</code>.
    </Empty>
  )
}
