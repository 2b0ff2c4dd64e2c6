/** All agents: in this process and remote ones, with how they do. */
import { usePages, useRead } from '../api/query.ts'
import { seesAll, useMe } from '../frame/me.ts'
import { RowLink } from '../kit/links.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { State } from '../parts/outcome.tsx'
import { Empty, Heading } from '../parts/parts.tsx'
import { lasting } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { useStops } from '../stops/stops.ts'
import { type Agent, agentPath, type Figures, percent } from './agent.ts'
import { StopButton } from './stop-button.tsx'

export function AgentsPage() {
  const me = useMe()
  const all = seesAll(me)
  const list = usePages<Agent>('v1/agents?limit=100', ['agents'], all)
  const { rows, error } = list
  return (
    <>
      <Heading title="Agents" />
      {me !== undefined && !all && (
        <Empty title="Agents are for admins">
          Your key is for {me.user_id}: their sessions are on their own page.
        </Empty>
      )}
      {error !== null && <Trouble spaced error={error} onRetry={() => void list.refetch()} />}
      {rows?.length === 0 && (
        <Empty title="No agent is here">
          Give agents to <code>wakeful({'{ agents }'})</code>, or register a remote one with{' '}
          <code>POST /v1/agents</code>.
        </Empty>
      )}
      {all && rows?.length !== 0 && (rows !== undefined || error === null) && (
        <Table label="Agents" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />
      )}
    </>
  )
}

function Figure({ agent, of }: { agent: Agent; of: (figures: Figures) => string }) {
  const { data } = useRead<Agent>(agentPath(agent.id), ['agents', 'stops', 'sessions'])
  const figures = data?.figures
  return <>{figures === undefined ? '–' : of(figures)}</>
}

function AgentState({ agent }: { agent: Agent }) {
  const isStopped = useStops().some(
    ({ level, target }) => level === 'everything' || (level === 'agent' && target === agent.id),
  )
  if (isStopped)
    return (
      <State icon="stop" tone="bad">
        stopped
      </State>
    )
  return agent.enabled ? (
    <State icon="play" tone="good">
      running
    </State>
  ) : (
    <State icon="pause" tone="plain">
      disabled
    </State>
  )
}

const RIGHT = 'w-[7rem] text-right tabular-nums'

const COLUMNS: readonly Column<Agent>[] = [
  {
    name: 'Agent',
    className: 'max-md:flex-1 max-md:basis-40',
    cell: ({ id }) => <RowLink href={`/agents/${encodeURIComponent(id)}`}>{id}</RowLink>,
  },
  { name: 'Kind', className: 'w-[8rem]', cell: ({ kind }) => kind },
  { name: 'State', className: 'w-[7rem]', cell: (agent) => <AgentState agent={agent} /> },
  {
    name: 'Sessions',
    className: RIGHT,
    wide: true,
    cell: (agent) => <Figure agent={agent} of={({ sessions }) => sessions.toLocaleString()} />,
  },
  {
    name: 'Turns 24 h',
    className: RIGHT,
    wide: true,
    cell: (agent) => <Figure agent={agent} of={(each) => each.turns_24h.toLocaleString()} />,
  },
  {
    name: 'Errors',
    className: RIGHT,
    wide: true,
    cell: (agent) => <Figure agent={agent} of={({ error_rate }) => percent(error_rate)} />,
  },
  {
    name: 'Median',
    className: RIGHT,
    wide: true,
    cell: (agent) => (
      <Figure agent={agent} of={({ p50_ms }) => (p50_ms === null ? '–' : lasting(p50_ms))} />
    ),
  },
  {
    name: 'Stop',
    className: 'w-[7.5rem] text-right',
    cell: ({ id }) => <StopButton agent={id} />,
  },
]
