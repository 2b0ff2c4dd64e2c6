/** The settings in force, each with the variable that sets it. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { answerOf } from '../api/http.ts'
import { useRead } from '../api/query.ts'
import type { Health } from '../api/shapes.ts'
import { useCapabilities } from '../forms/choices.ts'
import { Panel } from '../parts/parts.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { Trouble } from '../parts/trouble.tsx'

interface Rules {
  readonly autonomy_enabled: boolean
  readonly max_consecutive: number
  readonly cooldown_ms: number
  readonly intents_max: number
}

export function Settings() {
  const rules = useRead<Rules>('v1/rules', [])
  return (
    <div className="grid grid-cols-1 items-start gap-4 xl:grid-cols-2">
      <Panel title="What agents may do on their own">
        {rules.error !== null && <Trouble error={rules.error} />}
        {rules.data === undefined && rules.error === null && <Skeleton />}
        {rules.data !== undefined && <InForce rules={rules.data} />}
      </Panel>
      <Server />
    </div>
  )
}

function InForce({ rules }: { rules: Rules }) {
  return (
    <List>
      <Setting name="Agents act on their own" variable="AUTONOMY_ENABLED">
        {rules.autonomy_enabled ? 'yes' : 'no: nothing fires, conversations still work'}
      </Setting>
      <Setting name="Unanswered follow-ups in a row" variable="AUTONOMY_MAX_CONSECUTIVE">
        at most {rules.max_consecutive}
      </Setting>
      <Setting name="Between two follow-ups" variable="AUTONOMY_COOLDOWN_MS">
        at least {rules.cooldown_ms / 1000} s
      </Setting>
      <Setting name="Enabled intents of one person">at most {rules.intents_max}</Setting>
    </List>
  )
}

/** 503 is an answer here, not an error: it says what is missing. */
function Server() {
  const { agents, agent_types, channels } = useCapabilities()
  const { data, error } = useQuery({
    queryKey: ['healthz'],
    queryFn: async ({ signal }) => (await (await answerOf('healthz', { signal })).json()) as Health,
  })
  return (
    <Panel title="Server">
      {error !== null && <Trouble error={error} />}
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && (
        <List>
          <Setting name="Version">{data.version}</Setting>
          <Setting name="Database" variable="DATABASE_URL">
            {data.database === 'pglite' ? 'embedded (PGlite)' : 'PostgreSQL'}
          </Setting>
          <Setting name="Services of this process" variable="WAKEFUL_SERVICES">
            {data.services?.join(', ') ?? 'not started'}
          </Setting>
          <Setting name="Agents" variable="WAKEFUL_APP">
            {agents.join(', ') || 'none'}
          </Setting>
          <Setting name="Executors of work">{agent_types.join(', ') || 'none'}</Setting>
          <Setting name="Channels">{channels.join(', ') || 'none'}</Setting>
          <Setting name="Time zone data">{data.tz_data}</Setting>
        </List>
      )}
    </Panel>
  )
}

function List({ children }: { children: ReactNode }) {
  return <dl className="divide-y divide-line text-[13px]">{children}</dl>
}

function Setting(props: { name: string; variable?: string; children: ReactNode }) {
  const { name, variable, children } = props
  return (
    <div className="flex flex-wrap justify-between gap-x-4 py-2">
      <dt>
        {name}
        {variable !== undefined && (
          <code className="block font-mono text-xs text-muted">{variable}</code>
        )}
      </dt>
      <dd className="font-medium wrap-anywhere">{children}</dd>
    </div>
  )
}
