/** One intent: what it waits for, what it then asks for, and what each check saw. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { request } from '../api/http.ts'
import { useAct } from '../forms/act.ts'
import { DeleteButton } from '../forms/delete-button.tsx'
import { Back, Facts } from '../lists/facts.tsx'
import { useOffsets } from '../lists/pages.ts'
import { useNow } from '../parts/clock.ts'
import { Badge, Button, Empty, Heading, Panel } from '../parts/parts.tsx'
import { fromNow, timeOf, whenIn } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { sessionAddress } from '../session/key.ts'
import {
  EXECUTION_TONES,
  EXECUTION_WORDS,
  type Execution,
  type Intent,
  seenWords,
  TYPE_WORDS,
  waitsFor,
} from './shapes.ts'
import { Toggle } from './toggle.tsx'

const LOOK_MS = 2_000
const ROWS = 50

export function IntentDetail({ id }: { id: string }) {
  const [deleted, setDeleted] = useState(false)
  const { data, error, refetch } = useQuery({
    queryKey: ['intents', 'one', id],
    queryFn: ({ signal }) => request<Intent>(`v1/intents/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: LOOK_MS,
    enabled: !deleted,
  })
  return (
    <>
      <Back href="/intents" to="All intents">
        {data !== undefined && (
          <Badge tone={data.enabled ? 'good' : 'plain'}>
            {data.enabled ? 'enabled' : 'disabled'}
          </Badge>
        )}
      </Back>
      {error !== null && !deleted && (
        <Trouble spaced error={error} onRetry={() => void refetch()} />
      )}
      {data === undefined && error === null && <p className="text-muted">Loading …</p>}
      {data !== undefined && <Known intent={data} onDelete={() => setDeleted(true)} />}
    </>
  )
}

function Known({ intent, onDelete }: { intent: Intent; onDelete: () => void }) {
  const now = useNow()
  const { next_check: next, last_executed: last, expires_at: ends } = intent
  return (
    <>
      <Heading title={intent.intent_name}>
        <span className="inline-block first-letter:uppercase">{waitsFor(intent)}</span>
      </Heading>
      <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <History intent={intent} />
        <div className="max-lg:order-first">
          <Panel title="What it does">
            <p className="mb-3 whitespace-pre-wrap wrap-anywhere">{intent.action_context}</p>
            <Facts
              facts={[
                ['Waits for', TYPE_WORDS[intent.trigger_type]],
                ['For', intent.user_id],
                ['Acts', intent.agent_id ?? 'a worker outside, by /v1/intents/pending'],
                ['Priority', intent.action_priority],
                ['Next look', next && `${whenIn(next, intent.timezone)}`],
                ['Last fired', last && fromNow(last, now)],
                ['Fired', times(intent)],
                ['Until', ends && whenIn(ends, intent.timezone)],
                ['Last error', intent.last_execution_error],
              ]}
            />
            <Actions intent={intent} onDelete={onDelete} />
          </Panel>
        </div>
      </div>
    </>
  )
}

function times({ execution_count: count, max_executions: max }: Intent): string {
  if (max !== null) return `${count} of ${max} times`
  return count === 1 ? '1 time' : `${count} times`
}

function Actions({ intent, onDelete }: { intent: Intent; onDelete: () => void }) {
  const [, go] = useLocation()
  const act = useAct('intents')
  const remove = useAct('intents', () => go('/intents'))
  const path = `v1/intents/${intent.id}`
  return (
    <div className="mt-4 flex flex-wrap items-center gap-3">
      <span className="flex items-center gap-2 text-sm">
        <Toggle
          label="Enabled"
          on={intent.enabled}
          busy={act.isPending}
          onChange={(enabled) => act.mutate({ method: 'PUT', path, body: { enabled } })}
        />
        <span aria-hidden="true">Enabled</span>
      </span>
      <DeleteButton
        what="intent"
        words="It will be looked at no more. The record of what it did is kept."
        onYes={() => {
          onDelete()
          remove.mutate({ method: 'DELETE', path })
        }}
      />
      {act.error !== null && <Trouble error={act.error} />}
      {remove.error !== null && <Trouble error={remove.error} />}
    </div>
  )
}

function History({ intent }: { intent: Intent }) {
  const list = useOffsets<Execution>({
    key: ['intents', 'history', intent.id],
    path: `v1/intents/${intent.id}/history`,
    rows: ROWS,
    everyMs: LOOK_MS,
  })
  const rows = list.rows ?? []
  return (
    <Panel title="History">
      {list.error !== null && <Trouble error={list.error} />}
      {list.rows?.length === 0 && (
        <Empty title="Not looked at yet">
          Each look at it will be listed here with what was seen, also those that came to nothing.
        </Empty>
      )}
      <ol className="divide-y divide-line text-sm">
        {rows.map((execution) => (
          <Check key={execution.id} execution={execution} />
        ))}
      </ol>
      {list.hasNextPage && (
        <Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show older
        </Button>
      )}
    </Panel>
  )
}

function Check({ execution }: { execution: Execution }) {
  const now = useNow()
  const { executed_at: at, last_seen_at: seenAt, repeats, session_key: session } = execution
  const seen = seenWords(execution.trigger_data)
  return (
    <li className="py-2.5">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Badge tone={EXECUTION_TONES[execution.status]}>{EXECUTION_WORDS[execution.status]}</Badge>
        <time dateTime={at} className="text-muted">
          {timeOf(at, now)}
        </time>
        {repeats > 1 && (
          <span className="text-muted">
            {repeats} times in a row{seenAt !== null && `, last ${fromNow(seenAt, now)}`}
          </span>
        )}
        {session !== null && (
          <Link
            href={sessionAddress(session)}
            className="ml-auto text-accent underline underline-offset-4"
          >
            Conversation
          </Link>
        )}
      </p>
      {seen !== '' && <p className="mt-1 text-muted wrap-anywhere">{seen}</p>}
      {execution.message_preview !== null && (
        <p className="mt-1 wrap-anywhere">“{execution.message_preview}”</p>
      )}
      {execution.error_message !== null && (
        <p className="mt-1 text-bad wrap-anywhere">{execution.error_message}</p>
      )}
    </li>
  )
}
