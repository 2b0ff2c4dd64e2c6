/** The installation: health and speed, what is stopped, sources, subscriptions, channels, keys, the audit log, settings. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { ChannelList } from '../channels/channel-list.tsx'
import { useMe } from '../frame/me.ts'
import { Heading, Panel } from '../parts/parts.tsx'
import { Audit } from './audit.tsx'
import { HealthPart } from './health.tsx'
import { KeysPart } from './keys.tsx'
import { Settings } from './settings.tsx'
import { SourcesPanel } from './sources.tsx'
import { StopsPanel } from './stops.tsx'
import { SubscribersPanel } from './subscriptions.tsx'

interface Part {
  readonly label: string
  /** Who may read it. */
  readonly roles: readonly string[]
  readonly draw: () => ReactNode
}

const EVERYBODY = ['admin', 'service', 'agent', 'user', 'worker']
const OPERATORS = ['admin', 'service']

const PARTS: Readonly<Record<string, Part>> = {
  health: { label: 'Health', roles: EVERYBODY, draw: () => <HealthPart /> },
  stops: { label: 'Stops', roles: OPERATORS, draw: () => <StopsPanel /> },
  sources: { label: 'Sources', roles: OPERATORS, draw: () => <SourcesPanel /> },
  subscriptions: {
    label: 'Subscriptions',
    roles: ['admin', 'service', 'agent', 'user'],
    draw: () => <SubscribersPanel />,
  },
  channels: {
    label: 'Channels',
    roles: OPERATORS,
    draw: () => (
      <Panel title="Channels">
        <ChannelList />
      </Panel>
    ),
  },
  keys: { label: 'Keys', roles: EVERYBODY, draw: () => <KeysPart /> },
  audit: { label: 'Audit log', roles: ['admin'], draw: () => <Audit /> },
  settings: { label: 'Settings', roles: EVERYBODY, draw: () => <Settings /> },
}

export function SystemPage({ part }: { part: string }) {
  const me = useMe()
  const shown = Object.entries(PARTS).filter(
    ([, { roles }]) => me !== undefined && roles.includes(me.role),
  )
  const [, chosen] = shown.find(([name]) => name === part) ?? shown[0] ?? []
  return (
    <>
      <Heading title="System" />
      <nav aria-label="System" className="mb-4 flex flex-wrap gap-1 text-[13px]">
        {shown.map(([name, each]) => (
          <Link
            key={name}
            href={name === 'health' ? '/system' : `/system/${name}`}
            aria-current={each === chosen ? 'page' : undefined}
            className="shrink-0 rounded-md px-2.5 py-1.5 -outline-offset-2 text-muted hover:bg-sunk hover:text-ink aria-[current=page]:bg-sunk aria-[current=page]:font-medium aria-[current=page]:text-ink"
          >
            {each.label}
          </Link>
        ))}
      </nav>
      {chosen?.draw()}
    </>
  )
}
