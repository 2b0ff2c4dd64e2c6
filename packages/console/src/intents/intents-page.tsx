/** The standing intents of everybody or of one person; one of them with its history; and making one. */
import { useMemo, useState } from 'react'
import { Link, Route, Switch } from 'wouter'
import { useAct } from '../forms/act.ts'
import { LOCAL_PERSON, usePeople } from '../forms/choices.ts'
import { seesAll, useMe } from '../frame/me.ts'
import { Choice, Search } from '../lists/filters.tsx'
import { useOffsets } from '../lists/pages.ts'
import { WindowedList } from '../lists/windowed-list.tsx'
import { useNow, useSettled } from '../parts/clock.ts'
import { Badge, Button, Empty, FIELD, Heading } from '../parts/parts.tsx'
import { fromNow } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { KEY_PART } from '../session/key.ts'
import { IntentDetail } from './intent-detail.tsx'
import { NewIntent } from './new-intent.tsx'
import { EXECUTION_TONES, EXECUTION_WORDS, type Intent, TYPE_WORDS, waitsFor } from './shapes.ts'
import { Toggle } from './toggle.tsx'

const ROWS = 100
const ROW_PX = 77
const TYPING_MS = 300
const CHOICES = [
  ['', 'All'],
  ['true', 'Enabled'],
  ['false', 'Disabled'],
] as const

export function IntentsPage() {
  return (
    <Switch>
      <Route path="/intents/:id">{({ id }) => <IntentDetail key={id} id={id} />}</Route>
      <Route>
        <IntentList />
      </Route>
    </Switch>
  )
}

function IntentList() {
  const [making, setMaking] = useState(false)
  const [words, setWords] = useState('')
  const [enabled, setEnabled] = useState<(typeof CHOICES)[number][0]>('')
  // Empty: everybody's, which for most keys are their own.
  const [person, setPerson] = useState('')
  const typed = useSettled(person.trim(), TYPING_MS)
  const asked = typed === '' || KEY_PART.test(typed)
  const filters = new URLSearchParams(typed === '' ? { everybody: 'true' } : { user_id: typed })
  if (enabled !== '') filters.set('enabled', enabled)
  const list = useOffsets<Intent>({
    key: ['intents', filters.toString()],
    path: `v1/intents?${filters}`,
    rows: ROWS,
    enabled: asked,
  })
  const { error } = list
  const wanted = words.trim().toLowerCase()
  const rows = useMemo(
    () => list.rows?.filter((intent) => contains(intent, wanted)),
    [list.rows, wanted],
  )
  return (
    <>
      <Heading title="Intents">
        A standing intent waits for a price, a silence, news, an event, the calendar or a time, and
        then lets an agent act.
      </Heading>
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <Person person={person} refused={!asked} onChange={setPerson} />
        <Search label="Search intents" value={words} onChange={setWords} />
        <Choice label="State" choices={CHOICES} value={enabled} onChange={setEnabled} />
        <Button
          main={!making}
          aria-expanded={making}
          className="max-sm:w-full"
          onClick={() => setMaking(!making)}
        >
          {making ? 'Close' : 'New intent'}
        </Button>
      </div>
      {making && (
        <NewIntent person={person.trim() || LOCAL_PERSON} onMade={() => setMaking(false)} />
      )}
      {error !== null && <Trouble spaced error={error} onRetry={() => void list.refetch()} />}
      {rows === undefined && error === null && asked && <p className="text-muted">Loading …</p>}
      {rows?.length === 0 && !list.hasNextPage && (
        <None person={typed} filtered={wanted !== '' || enabled !== ''} />
      )}
      {rows !== undefined && (rows.length > 0 || list.hasNextPage) && (
        <WindowedList
          label="Intents"
          rows={rows}
          rowPx={ROW_PX}
          keyOf={(intent) => intent.id}
          draw={(intent) => <IntentRow intent={intent} named={typed === ''} />}
          more={list.hasNextPage}
          loading={list.isFetchingNextPage}
          onMore={list.fetchNextPage}
        />
      )}
    </>
  )
}

function contains(intent: Intent, wanted: string): boolean {
  const texts = [intent.intent_name, intent.action_context, waitsFor(intent), intent.trigger_type]
  return texts.some((text) => text.toLowerCase().includes(wanted))
}

interface PersonProps {
  readonly person: string
  readonly refused: boolean
  readonly onChange: (person: string) => void
}

function Person({ person, refused, onChange }: PersonProps) {
  const people = usePeople()
  const me = useMe()
  if (me !== undefined && !seesAll(me)) return null
  return (
    <label className="flex items-center gap-2 text-sm max-sm:w-full">
      <span className="font-medium">Person</span>
      <input
        value={person}
        list="people"
        placeholder="everybody"
        aria-invalid={refused}
        onChange={(event) => onChange(event.target.value)}
        autoComplete="off"
        className={`${FIELD} sm:w-36`}
      />
      <datalist id="people">
        {people.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  )
}

/** `named`: with whose it is, where that is not everybody's own. */
function IntentRow({ intent, named }: { intent: Intent; named: boolean }) {
  const now = useNow()
  const me = useMe()
  const act = useAct('intents')
  const { last_execution_status: last, last_executed: at } = intent
  return (
    <div className="flex items-center gap-x-4 pr-4 hover:bg-sunk">
      <Link
        href={`/intents/${intent.id}`}
        className="flex min-w-0 flex-1 flex-wrap items-center gap-x-4 gap-y-1 py-3 pl-4 -outline-offset-2"
      >
        <span className="min-w-0 flex-1 basis-56">
          <span className="block truncate font-medium">{intent.intent_name}</span>
          <span className="block truncate text-sm text-muted first-letter:uppercase">
            {waitsFor(intent)}
            {named && seesAll(me) && ` · ${intent.user_id}`}
          </span>
        </span>
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
          {at !== null && <time dateTime={at}>fired {fromNow(at, now)}</time>}
          {last !== null && last !== 'success' && (
            <Badge tone={EXECUTION_TONES[last]}>{EXECUTION_WORDS[last]}</Badge>
          )}
          <span className="flex max-sm:order-first sm:w-18 sm:justify-end">
            <Badge>{TYPE_WORDS[intent.trigger_type]}</Badge>
          </span>
        </span>
      </Link>
      <Toggle
        label={`${intent.intent_name} enabled`}
        on={intent.enabled}
        busy={act.isPending}
        onChange={(enabled) =>
          act.mutate({ method: 'PUT', path: `v1/intents/${intent.id}`, body: { enabled } })
        }
      />
    </div>
  )
}

function None({ person, filtered }: { person: string; filtered: boolean }) {
  if (filtered)
    return <Empty title="No intent fits">Search for other words, or show all of them.</Empty>
  return (
    <Empty title={person === '' ? 'No intents yet' : `${person} has no intents yet`}>
      Press “New intent” and choose what to wait for. Tell Wakeful of prices, news and events with{' '}
      <code className="font-mono text-[0.9em]">POST /v1/signals</code>: one that makes a condition
      true fires it at once.
    </Empty>
  )
}
