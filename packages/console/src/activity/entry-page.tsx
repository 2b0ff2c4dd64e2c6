/** One occurrence, at an address of its own: what happened from due to delivery, and what was passed on. */
import { Link } from 'wouter'
import { entryPath, type LedgerEntry, ledgerPath } from '../api/ledger.ts'
import { useRead } from '../api/query.ts'
import { type Effect, type Page, type SessionEvent, type Turn, textIn } from '../api/shapes.ts'
import { mayChange, useMe } from '../frame/me.ts'
import { type Failure, useFailureActs } from '../home/waiting.ts'
import { Facts } from '../kit/facts.tsx'
import { AgentLink, PersonLink, SessionLink } from '../kit/links.tsx'
import { Icon } from '../parts/icon.tsx'
import { KIND_NAMES, Kind, OutcomeState } from '../parts/outcome.tsx'
import { Button, Heading, Panel } from '../parts/parts.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { whenIn } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { useShownZone } from '../parts/use-zone.ts'
import { When } from '../parts/when.tsx'
import { pageOf } from '../schedule/schedule.ts'
import { pathOf } from '../session/session-query.ts'
import { chainOf } from './chain.ts'
import { Payload } from './payload.tsx'
import { Waterfall } from './waterfall.tsx'

export function EntryPage({ id }: { id: string }) {
  const { data, error, refetch } = useRead<Failure>(entryPath(id), ['ledger', 'inbox'])
  return (
    <>
      <p className="mb-2 text-[13px]">
        <Link href="/activity" className="text-accent underline underline-offset-4">
          ← Activity
        </Link>
      </p>
      {error !== null && <Trouble spaced error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton rows={8} />}
      {data !== undefined && <Known entry={data} />}
    </>
  )
}

/** What its session keeps of the event and the turns over it. */
function useParts({ session_key, turn }: LedgerEntry) {
  const seq = turn?.event_seq
  const isKept = session_key !== undefined && seq !== undefined
  const path = pathOf(session_key ?? '')
  const around = `after_seq=${(seq ?? 1) - 1}&before_seq=${(seq ?? 1) + 1}`
  const events = useRead<Page<SessionEvent>>(`${path}/events?${around}`, ['ledger'], isKept)
  const turns = useRead<Page<Turn>>(`${path}/turns?${around}`, ['ledger'], isKept)
  const effects = useRead<Page<Effect>>(`${path}/effects?${around}`, ['ledger'], isKept)
  const own = <T,>(page: { data?: Page<T> | undefined }) => (isKept ? (page.data?.data ?? []) : [])
  return { event: own(events)[0], turns: own(turns), effects: own(effects) }
}

function Known({ entry }: { entry: Failure }) {
  const { trigger, user_id, session_key, outcome, scheduled_for, dismissed } = entry
  const zone = useShownZone()
  const { event, turns, effects } = useParts(entry)
  return (
    <>
      <Heading title={trigger.name} aside={<Actions entry={entry} />}>
        <OutcomeState outcome={outcome} />
      </Heading>
      <Words entry={entry} />
      <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="flex min-w-0 flex-col gap-4">
          <Panel title="What happened">
            <Waterfall steps={chainOf(entry, turns)} />
          </Panel>
          {event !== undefined && <Payload title="Event" value={event.payload} />}
          {effects.map((effect) => (
            <Payload
              key={effect.id}
              title={effect.type === 'send_message' ? 'Message' : effect.type.replaceAll('_', ' ')}
              value={effect.payload}
              text={textIn(effect.payload, 'content')}
            />
          ))}
          {entry.seen !== undefined && entry.seen !== null && (
            <Payload title="What the check saw" value={entry.seen} />
          )}
        </div>
        <Panel title="Details">
          <Facts
            facts={[
              ['Kind', <Kind key="kind" kind={trigger.kind} named />],
              ['Person', <PersonLink key="person" id={user_id} />],
              ['Agent', <AgentLink key="agent" id={session_key?.split(':')[1]} />],
              ['Due', <span key="due">{whenIn(scheduled_for, zone)}</span>],
              ['Conversation', session_key && <SessionLink key="session" id={session_key} />],
              ['Schedule', <ScheduleLink key="schedule" entry={entry} />],
              ['Attempts', entry.attempts > 1 && String(entry.attempts)],
              ['Missed before', entry.missed_count > 0 && String(entry.missed_count)],
              ['Seen', (entry.repeats ?? 1) > 1 && `${entry.repeats} times in a row`],
              [
                'Dismissed',
                dismissed && (
                  <span key="dismissed">
                    <When at={dismissed.at} /> by {dismissed.by}
                  </span>
                ),
              ],
              [
                'Id',
                <code key="id" className="font-mono text-xs">
                  {entry.id}
                </code>,
              ],
            ]}
          />
        </Panel>
      </div>
    </>
  )
}

/** One entry tells its times in UTC; the list tells them in the zone that is shown. */
function Words({ entry }: { entry: LedgerEntry }) {
  const { id, at, user_id, trigger } = entry
  const path = ledgerPath({
    user_id,
    trigger: trigger.kind,
    trigger_id: trigger.id ?? undefined,
    from: new Date(Date.parse(at) - 1).toISOString(),
    to: new Date(Date.parse(at) + 1).toISOString(),
  })
  const { data, isPending } = useRead<Page<LedgerEntry>>(path, ['ledger'])
  const told = data?.data.find((each) => each.id === id) ?? entry
  return <p className="mb-4 min-h-5 max-w-prose wrap-anywhere">{isPending ? '' : told.words}</p>
}

function ScheduleLink({ entry: { trigger } }: { entry: LedgerEntry }) {
  const { kind, id } = trigger
  if (id === null || kind === 'question') return <span className="text-muted">none</span>
  return (
    <Link href={pageOf(kind, id)} className="text-accent underline underline-offset-2">
      The {KIND_NAMES[kind].toLowerCase()}
    </Link>
  )
}

function Actions({ entry }: { entry: Failure }) {
  const acts = useFailureActs(entry.id)
  const isFailed = entry.outcome === 'failed'
  if (!mayChange(useMe()) || entry.trigger.kind === 'question') return null
  return (
    <>
      {entry.retryable !== false && (
        <Button main={isFailed} disabled={acts.busy || acts.isRetried} onClick={acts.retry}>
          <Icon name="retry" /> {acts.isRetried ? 'Running' : isFailed ? 'Retry' : 'Run again'}
        </Button>
      )}
      {isFailed && entry.dismissed === undefined && (
        <Button disabled={acts.busy} onClick={acts.dismiss}>
          Dismiss
        </Button>
      )}
      {acts.error !== null && <Trouble error={acts.error} />}
    </>
  )
}
