/** One schedule, beside the list it came from: when, for whom, what can be done, and what became of it. */
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { address } from '../api/address.ts'
import { Problem } from '../api/http.ts'
import { KINDS, type Kind, type LedgerEntry, ledgerPath } from '../api/ledger.ts'
import { useRead } from '../api/query.ts'
import type { Page } from '../api/shapes.ts'
import { useAct } from '../forms/act.ts'
import { mayChange, useMe } from '../frame/me.ts'
import { Drawer } from '../kit/drawer.tsx'
import { Facts } from '../kit/facts.tsx'
import { AgentLink, PersonLink, SessionLink } from '../kit/links.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Icon } from '../parts/icon.tsx'
import { Kind as KindIcon, OutcomeState, State } from '../parts/outcome.tsx'
import { Button } from '../parts/parts.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { whenIn } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'
import { WorkOutputs } from '../work/outputs.tsx'
import { EditSchedule } from './edit.tsx'
import { ACTIONS, type Action, actionsOf, requestOf, type Schedule, stateOf } from './schedule.ts'

const HISTORY = 20
const Q_MAX = 100
const ALL_MAX = 200

/** What the four kinds say of themselves, as far as it is shown here. */
interface Source {
  readonly name?: string
  readonly label?: string
  readonly wake_message?: string
  readonly intent_name?: string
  readonly last_error?: string | null
  readonly last_execution_error?: string | null
  readonly failure_count?: number
  readonly max_failures?: number
  readonly payload?: unknown
  readonly work?: { readonly task: string }
}

const PATHS = { alarm: 'alarms', intent: 'intents', work: 'work' } as const

function targetOf(text: string): { kind: Kind; id: string } | null {
  const [kind = '', ...id] = text.split(':')
  const known = KINDS.find((each) => each === kind)
  return known === undefined ? null : { kind: known, id: id.join(':') }
}

export function ScheduleDrawer({ target, onClose }: { target: string; onClose: () => void }) {
  const parts = targetOf(target)
  const found = useSchedule(parts)
  const { schedule, source, error, isGone } = found
  const title =
    schedule === undefined ? (
      'Schedule'
    ) : (
      <span className="flex items-start gap-2">
        <span className="pt-0.5">
          <KindIcon kind={schedule.kind} />
        </span>
        {schedule.name || schedule.note}
      </span>
    )
  return (
    <Drawer title={title} onClose={onClose}>
      {schedule !== undefined && <Known schedule={schedule} source={source} onGone={onClose} />}
      {schedule === undefined && isGone && (
        <p className="text-[13px] text-muted">
          It is deleted or has ended. What it did is in{' '}
          <Link href={address('/activity', { span: 'all' })} className="text-accent underline">
            Activity
          </Link>
          .
        </p>
      )}
      {schedule === undefined && !isGone && error !== null && <Trouble error={error} />}
      {schedule === undefined && !isGone && error === null && <Skeleton rows={6} />}
    </Drawer>
  )
}

/** The list is asked for it, by the name that its own kind knows it by. */
function useSchedule(target: { kind: Kind; id: string } | null) {
  const { kind = 'timer', id = '' } = target ?? {}
  const isTimer = kind === 'timer'
  const own = useRead<Source>(
    isTimer ? '' : `v1/${PATHS[kind]}/${encodeURIComponent(id)}`,
    ['schedules'],
    !isTimer && target !== null,
  )
  const { name, label, wake_message, intent_name, work } = own.data ?? {}
  const title = name || label || wake_message || intent_name || work?.task || ''
  const q = title.slice(0, Q_MAX).trim()
  const list = useRead<Page<Schedule>>(
    address('v1/schedules', { kind, q, limit: ALL_MAX }),
    ['schedules'],
    target !== null && (isTimer || own.data !== undefined),
  )
  const schedule = list.data?.data.find((each) => each.id === id)
  const isMissing = own.error instanceof Problem && own.error.status === 404
  const isUnlisted = list.data !== undefined && !list.isPlaceholderData && schedule === undefined
  return {
    schedule,
    source: own.data,
    error: own.error ?? list.error,
    isGone: target === null || isMissing || (isUnlisted && !list.isFetching),
  }
}

interface KnownProps {
  readonly schedule: Schedule
  readonly source: Source | undefined
  readonly onGone: () => void
}

function Known({ schedule, source, onGone }: KnownProps) {
  const [editing, setEditing] = useState(false)
  const { user_id, agent_id, thread_id, note, description, timezone, next, last } = schedule
  const { words, icon, tone } = stateOf(schedule)
  const trouble = source?.last_error ?? source?.last_execution_error
  const session =
    agent_id === null || thread_id === null ? null : `${user_id}:${agent_id}:${thread_id}`
  return (
    <>
      <Actions
        schedule={schedule}
        editing={editing}
        onEdit={() => setEditing(!editing)}
        onGone={onGone}
      />
      {editing && <EditSchedule schedule={schedule} onDone={() => setEditing(false)} />}
      <Facts
        facts={[
          [
            'Status',
            <State key="state" icon={icon} tone={tone}>
              {words}
            </State>,
          ],
          ['When', <span key="when">{description}</span>],
          ['Next', next.length > 0 && <Times key="next" times={next} zone={timezone} />],
          ['Person', <PersonLink key="person" id={user_id} />],
          ['Agent', <AgentLink key="agent" id={agent_id} />],
          ['Conversation', session && <SessionLink key="session" id={session} />],
          ['Instructions', note],
          ['Data', jsonWords(source?.payload)],
          ['Time zone', timezone],
          [
            'Last',
            last && (
              <span key="last" className="inline-flex flex-wrap gap-x-2">
                <OutcomeState outcome={last.outcome} /> <When at={last.at} as="both" />
              </span>
            ),
          ],
          ['Attempts', attemptsOf(source)],
        ]}
      />
      {trouble !== undefined && trouble !== null && (
        <p className="rounded-md bg-bad-soft px-3 py-2 text-[13px] wrap-anywhere">{trouble}</p>
      )}
      {schedule.kind === 'work' && <WorkOutputs id={schedule.id} />}
      <History schedule={schedule} />
    </>
  )
}

function attemptsOf(source: Source | undefined): ReactNode {
  const { failure_count: failed = 0, max_failures: max } = source ?? {}
  return failed > 0 && max !== undefined && `${failed} of ${max} failed`
}

function Times({ times, zone }: { times: readonly string[]; zone: string }) {
  return (
    <ol>
      {times.map((at) => (
        <li key={at}>
          <When at={at} zone={zone} as="both" />
          <span className="sr-only">{whenIn(at, zone)}</span>
        </li>
      ))}
    </ol>
  )
}

/** Null for an empty object, which says nothing. */
function jsonWords(value: unknown): string | null {
  if (value === undefined || value === null) return null
  const text = JSON.stringify(value)
  return text === '{}' ? null : text
}

interface ActionProps {
  readonly schedule: Schedule
  readonly editing: boolean
  readonly onEdit: () => void
  readonly onGone: () => void
}

function Actions({ schedule, editing, onEdit, onGone }: ActionProps) {
  const [asking, setAsking] = useState(false)
  const act = useAct(['schedules', 'overview', 'ledger', 'work'])
  const remove = useAct(['schedules', 'overview', 'ledger'], onGone)
  const run = (action: Action) =>
    action === 'delete' ? setAsking(true) : act.mutate(requestOf(schedule, action))
  if (!mayChange(useMe())) return null
  return (
    <div className="flex flex-wrap gap-2">
      {actionsOf(schedule).map((action) => (
        <Button
          key={action}
          disabled={act.isPending || remove.isPending}
          onClick={() => run(action)}
        >
          <Icon name={ACTIONS[action].icon} /> {ACTIONS[action].words}
        </Button>
      ))}
      {schedule.kind !== 'timer' && (
        <Button aria-expanded={editing} onClick={onEdit}>
          Change
        </Button>
      )}
      {act.error !== null && <Trouble error={act.error} />}
      {remove.error !== null && <Trouble error={remove.error} />}
      {asking && (
        <Confirm
          title="Delete this schedule?"
          words={
            schedule.kind === 'work'
              ? 'All of its outputs and files go with it. A run in progress is stopped.'
              : 'It fires no more. The record of what it did is kept.'
          }
          action="Delete"
          onNo={() => setAsking(false)}
          onYes={() => {
            setAsking(false)
            remove.mutate(requestOf(schedule, 'delete'))
          }}
        />
      )}
    </div>
  )
}

function History({ schedule: { kind, id } }: { schedule: Schedule }) {
  const path = ledgerPath({ trigger: kind, trigger_id: id, limit: HISTORY })
  const { data, error } = useRead<Page<LedgerEntry>>(path, ['ledger'])
  const rows = data?.data ?? []
  return (
    <section aria-label="History">
      <h3 className="mb-1 text-[13px] font-semibold">History</h3>
      {error !== null && <Trouble error={error} />}
      {data !== undefined && rows.length === 0 && (
        <p className="text-[13px] text-muted">It has not come due yet.</p>
      )}
      <ol className="divide-y divide-line text-[13px]">
        {rows.map((entry) => (
          <li key={entry.id} className="py-2">
            <Link
              href={`/activity/${encodeURIComponent(entry.id)}`}
              className="flex flex-wrap items-center justify-between gap-x-3 hover:underline"
            >
              <OutcomeState outcome={entry.outcome} />
              <When at={entry.at} as="both" />
            </Link>
            <p className="text-muted wrap-anywhere">{entry.words}</p>
          </li>
        ))}
      </ol>
    </section>
  )
}
