/** One alarm: when it fires, with which words, and what became of it so far. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { request, serverNow } from '../api/http.ts'
import { useAct } from '../forms/act.ts'
import { Back, Facts } from '../lists/facts.tsx'
import { useNow } from '../parts/clock.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Badge, Button, Heading, Panel } from '../parts/parts.tsx'
import { fromNow, leftUntil, timeOf, whenIn } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { AlarmHistory } from './alarm-history.tsx'
import { type Alarm, STATUS_TONES, titleOf, troubleOf } from './shapes.ts'

const LOOK_MS = 3_000
const LOOK_MIN_MS = 300

/** Sooner, when its time comes. */
function nextLook(alarm: Alarm | undefined): number {
  const next = alarm?.next_fire_at
  if (next === undefined) return LOOK_MS
  return Math.min(LOOK_MS, Math.max(LOOK_MIN_MS, Date.parse(next) - serverNow() + LOOK_MIN_MS))
}

export function AlarmDetail({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['alarms', 'one', id],
    queryFn: ({ signal }) => request<Alarm>(`v1/alarms/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: ({ state }) => nextLook(state.data),
  })
  return (
    <>
      <Back href="/alarms" to="All alarms">
        {data !== undefined && <Badge tone={STATUS_TONES[data.status]}>{data.status}</Badge>}
      </Back>
      {error !== null && <Trouble spaced error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <p className="text-muted">Loading …</p>}
      {data !== undefined && <Known alarm={data} />}
    </>
  )
}

function Known({ alarm }: { alarm: Alarm }) {
  const now = useNow()
  const { next_fires: nexts = [], last_fired_at: last } = alarm
  const trouble = troubleOf(alarm)
  return (
    <>
      <Heading title={titleOf(alarm)}>
        <span className="inline-block first-letter:uppercase">{alarm.description}</span>
      </Heading>
      <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-2">
        <Panel title="When">
          {nexts.length === 0 ? (
            <p className="text-sm text-muted">It fires no more.</p>
          ) : (
            <ol className="divide-y divide-line text-sm">
              {nexts.map((at) => (
                <li key={at} className="flex flex-wrap justify-between gap-x-4 py-2">
                  <time dateTime={at}>{whenIn(at, alarm.timezone)}</time>
                  <span className="text-muted">in {leftUntil(at, now)}</span>
                </li>
              ))}
            </ol>
          )}
          <Actions alarm={alarm} />
        </Panel>
        <Panel title="What it says">
          <p className="mb-4 whitespace-pre-wrap wrap-anywhere">{alarm.wake_message}</p>
          <Facts
            facts={[
              ['Wakes', alarm.agent_id ?? 'the wake URL'],
              ['Conversation', alarm.conversation_id ?? 'a fresh one each time'],
              ['Payload', jsonWords(alarm.payload)],
              ['Set', `${timeOf(alarm.created_at, now)} (${fromNow(alarm.created_at, now)})`],
              ['Last fired', last && `${timeOf(last, now)} (${fromNow(last, now)})`],
              ['Missed times', alarm.missed_count === 0 ? null : String(alarm.missed_count)],
              ['Failures', trouble],
            ]}
          />
          {alarm.last_error !== undefined && (
            <p className="mt-3 rounded-lg bg-bad-soft px-3 py-2 text-sm text-bad wrap-anywhere">
              {alarm.last_error}
            </p>
          )}
        </Panel>
        <div className="lg:col-span-2">
          <AlarmHistory id={alarm.id} />
        </div>
      </div>
    </>
  )
}

/** Null for an empty object, which says nothing. */
function jsonWords(value: unknown): string | null {
  const text = JSON.stringify(value)
  return text === '{}' ? null : text
}

/** What can be done by a click. */
const VERBS: Readonly<Record<Alarm['status'], readonly (readonly [string, string])[]>> = {
  active: [
    ['fire-now', 'Fire now'],
    ['pause', 'Pause'],
  ],
  paused: [['resume', 'Resume']],
  failed: [['retry', 'Try again']],
  fired: [],
  cancelled: [],
}

function Actions({ alarm }: { alarm: Alarm }) {
  const [asking, setAsking] = useState(false)
  const act = useAct('alarms')
  const path = `v1/alarms/${alarm.id}`
  const isStanding = alarm.status === 'active' || alarm.status === 'paused'
  return (
    <div className="mt-4 flex flex-wrap gap-2">
      {VERBS[alarm.status].map(([verb, words]) => (
        <Button
          key={verb}
          disabled={act.isPending}
          onClick={() => act.mutate({ method: 'POST', path: `${path}/${verb}` })}
        >
          {words}
        </Button>
      ))}
      {isStanding && (
        <Button disabled={act.isPending} onClick={() => setAsking(true)}>
          Cancel alarm
        </Button>
      )}
      {asking && (
        <Confirm
          title="Cancel this alarm?"
          words="It will not fire again, and cannot be made active again."
          action="Cancel alarm"
          onNo={() => setAsking(false)}
          onYes={() => {
            setAsking(false)
            act.mutate({ method: 'DELETE', path })
          }}
        />
      )}
      {act.error !== null && <Trouble error={act.error} />}
    </div>
  )
}
