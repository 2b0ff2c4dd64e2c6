/** Which page is at which address (after the `#`). Each page is loaded when it is first gone to. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link, Route, Router, Switch } from 'wouter'
import { useFilters, useHashAddress, useHashSearch } from './frame/address.ts'
import { PageBoundary } from './frame/boundary.tsx'
import { Frame } from './frame/frame.tsx'
import { Later, later } from './frame/later.tsx'
import { HomePage } from './home/home-page.tsx'
import { Heading } from './parts/parts.tsx'
import { useShownZone } from './parts/use-zone.ts'
import { keyIn, partIn, SESSION_KEY_FORM } from './session/key.ts'
import { sessionQuery } from './session/session-query.ts'

const SchedulePage = later(async () => (await import('./schedule/schedule-page.tsx')).SchedulePage)
const ActivityPage = later(async () => (await import('./activity/activity-page.tsx')).ActivityPage)
const EntryPage = later(async () => (await import('./activity/entry-page.tsx')).EntryPage)
const PeoplePage = later(async () => (await import('./people/people-page.tsx')).PeoplePage)
const PersonPage = later(async () => (await import('./people/person-page.tsx')).PersonPage)
const AgentsPage = later(async () => (await import('./agents/agents-page.tsx')).AgentsPage)
const AgentPage = later(async () => (await import('./agents/agent-page.tsx')).AgentPage)
const SystemPage = later(async () => (await import('./system/system-page.tsx')).SystemPage)
const SessionPage = later(async () => (await import('./session/session-page.tsx')).SessionPage)

export function App() {
  const zone = useShownZone()
  return (
    <Router hook={useHashAddress} searchHook={useHashSearch}>
      <Frame>
        <PageBoundary>
          {/* Drawn again as a whole: times stand in many words. */}
          <Pages key={zone} />
        </PageBoundary>
      </Frame>
    </Router>
  )
}

function Pages() {
  return (
    <Switch>
      <Route path="/" component={HomePage} />
      <Route path="/schedule/*?">
        {({ '*': ref }) => <Later page={SchedulePage} props={{ open: partIn(ref ?? '') }} />}
      </Route>
      <Route path="/activity">
        <Later page={ActivityPage} props={{}} />
      </Route>
      <Route path="/activity/:id">
        {({ id }) => <Later key={id} page={EntryPage} props={{ id: partIn(id) }} />}
      </Route>
      <Route path="/people">
        <Later page={PeoplePage} props={{}} />
      </Route>
      <Route path="/people/*">
        {({ '*': id }) => <Later key={id} page={PersonPage} props={{ id: partIn(id) }} />}
      </Route>
      <Route path="/agents">
        <Later page={AgentsPage} props={{}} />
      </Route>
      <Route path="/agents/:id">
        {({ id }) => <Later key={id} page={AgentPage} props={{ id: partIn(id) }} />}
      </Route>
      <Route path="/system/:part?">
        {({ part }) => <Later page={SystemPage} props={{ part: part ?? 'health' }} />}
      </Route>
      <Route path="/sessions/:key">{({ key }) => <OneSession part={key} />}</Route>
      <Route>
        <Nowhere>There is no page at this address.</Nowhere>
      </Route>
    </Switch>
  )
}

function OneSession({ part }: { part: string }) {
  const key = keyIn(part)
  const acting = useFilters().get('act') !== ''
  const client = useQueryClient()
  // The session is read while the code of its page is still on its way.
  useEffect(() => {
    if (key !== null) void client.prefetchQuery(sessionQuery(client, key))
  }, [client, key])
  if (key !== null)
    return <Later key={key} page={SessionPage} props={{ sessionKey: key, acting }} />
  return <Nowhere>{`This is no session’s key. ${SESSION_KEY_FORM}.`}</Nowhere>
}

function Nowhere({ children }: { children: string }) {
  return (
    <Heading title="Page not found">
      {children}{' '}
      <Link href="/" className="text-accent underline">
        Go to Home
      </Link>
    </Heading>
  )
}
