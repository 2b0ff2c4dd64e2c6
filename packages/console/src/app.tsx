/** Which page is at which address (after the `#`). Each page is loaded when it is first gone to. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link, Route, Router, Switch } from 'wouter'
import { useHashLocation } from 'wouter/use-hash-location'
import { PageBoundary } from './frame/boundary.tsx'
import { Frame } from './frame/frame.tsx'
import { Later, later } from './frame/later.tsx'
import { NowPage } from './now/now-page.tsx'
import { Heading } from './parts/parts.tsx'
import { keyIn, partIn, SESSION_KEY_FORM } from './session/key.ts'
import { sessionQuery } from './session/session-query.ts'

const SessionsPage = later(async () => (await import('./sessions/sessions-page.tsx')).SessionsPage)
const SessionPage = later(async () => (await import('./session/session-page.tsx')).SessionPage)
const AlarmsPage = later(async () => (await import('./alarms/alarms-page.tsx')).AlarmsPage)
const IntentsPage = later(async () => (await import('./intents/intents-page.tsx')).IntentsPage)
const WorkPage = later(async () => (await import('./work/work-page.tsx')).WorkPage)
const WhyPage = later(async () => (await import('./why/why-page.tsx')).WhyPage)
const TrendsPage = later(async () => (await import('./trends/trends-page.tsx')).TrendsPage)
const RulesPage = later(async () => (await import('./rules/rules-page.tsx')).RulesPage)
const PeoplePage = later(async () => (await import('./people/people-page.tsx')).PeoplePage)
const ForecastPage = later(async () => (await import('./forecast/forecast-page.tsx')).ForecastPage)
const LinksPage = later(async () => (await import('./links/links-page.tsx')).LinksPage)
const KeysPage = later(async () => (await import('./keys/keys-page.tsx')).KeysPage)
const HealthPage = later(async () => (await import('./health/health-page.tsx')).HealthPage)
const TryPage = later(async () => (await import('./phrases/try-page.tsx')).TryPage)

export function App() {
  return (
    <Router hook={useHashLocation}>
      <Frame>
        <PageBoundary>
          <Pages />
        </PageBoundary>
      </Frame>
    </Router>
  )
}

function Pages() {
  return (
    <Switch>
      <Route path="/" component={NowPage} />
      <Route path="/sessions">
        <Later page={SessionsPage} props={{}} />
      </Route>
      <Route path="/sessions/:key/watch">{({ key }) => <OneSession part={key} watching />}</Route>
      <Route path="/sessions/:key">{({ key }) => <OneSession part={key} watching={false} />}</Route>
      <Route path="/alarms/*?">
        <Later page={AlarmsPage} props={{}} />
      </Route>
      <Route path="/intents/*?">
        <Later page={IntentsPage} props={{}} />
      </Route>
      <Route path="/work/*?">
        <Later page={WorkPage} props={{}} />
      </Route>
      <Route path="/why/:outcome?">
        {({ outcome }) => <Later key={outcome} page={WhyPage} props={{ outcome }} />}
      </Route>
      <Route path="/trends">
        <Later page={TrendsPage} props={{}} />
      </Route>
      <Route path="/rules">
        <Later page={RulesPage} props={{}} />
      </Route>
      <Route path="/people/*?">
        {({ '*': user }) => <Later page={PeoplePage} props={{ named: partIn(user ?? '') }} />}
      </Route>
      <Route path="/forecast">
        <Later page={ForecastPage} props={{}} />
      </Route>
      <Route path="/links">
        <Later page={LinksPage} props={{}} />
      </Route>
      <Route path="/keys">
        <Later page={KeysPage} props={{}} />
      </Route>
      <Route path="/health">
        <Later page={HealthPage} props={{}} />
      </Route>
      <Route path="/try">
        <Later page={TryPage} props={{}} />
      </Route>
      <Route>
        <Nowhere>This address leads nowhere.</Nowhere>
      </Route>
    </Switch>
  )
}

function OneSession({ part, watching }: { part: string; watching: boolean }) {
  const key = keyIn(part)
  const client = useQueryClient()
  // The session is read while the code of its page is still on its way.
  useEffect(() => {
    if (key !== null) void client.prefetchQuery(sessionQuery(client, key))
  }, [client, key])
  if (key !== null)
    return <Later key={key} page={SessionPage} props={{ sessionKey: key, watching }} />
  return <Nowhere>{`This is no session’s key. ${SESSION_KEY_FORM}.`}</Nowhere>
}

function Nowhere({ children }: { children: string }) {
  return (
    <Heading title="Nothing here">
      {children}{' '}
      <Link href="/" className="text-accent underline">
        Go to what happens now
      </Link>
    </Heading>
  )
}
