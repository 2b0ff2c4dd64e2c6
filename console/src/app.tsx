/** Which page is at which address (after the `#`). Each page is loaded when it is first gone to. */
import { type ComponentType, lazy, Suspense } from 'react'
import { Link, Route, Router, Switch } from 'wouter'
import { useHashLocation } from 'wouter/use-hash-location'
import { Frame } from './frame/frame.tsx'
import { NowPage } from './now/now-page.tsx'
import { Heading } from './parts/parts.tsx'
import { keyIn } from './session/key.ts'

/** `lazy` wants a default export; our pages are named. */
function page<P>(load: () => Promise<ComponentType<P>>) {
  return lazy(async () => ({ default: await load() }))
}

const SessionsPage = page(async () => (await import('./sessions/sessions-page.tsx')).SessionsPage)
const SessionPage = page(async () => (await import('./session/session-page.tsx')).SessionPage)
const AlarmsPage = page(async () => (await import('./alarms/alarms-page.tsx')).AlarmsPage)
const IntentsPage = page(async () => (await import('./intents/intents-page.tsx')).IntentsPage)
const WorkPage = page(async () => (await import('./work/work-page.tsx')).WorkPage)
const WhyPage = page(async () => (await import('./why/why-page.tsx')).WhyPage)
const RulesPage = page(async () => (await import('./rules/rules-page.tsx')).RulesPage)
const KeysPage = page(async () => (await import('./keys/keys-page.tsx')).KeysPage)
const HealthPage = page(async () => (await import('./health/health-page.tsx')).HealthPage)
const TryPage = page(async () => (await import('./phrases/try-page.tsx')).TryPage)

export function App() {
  return (
    <Router hook={useHashLocation}>
      <Frame>
        <Suspense fallback={<p className="text-muted">Loading …</p>}>
          <Pages />
        </Suspense>
      </Frame>
    </Router>
  )
}

function Pages() {
  return (
    <Switch>
      <Route path="/" component={NowPage} />
      <Route path="/sessions" component={SessionsPage} />
      <Route path="/sessions/:key/watch">{({ key }) => <OneSession part={key} watching />}</Route>
      <Route path="/sessions/:key">{({ key }) => <OneSession part={key} watching={false} />}</Route>
      <Route path="/alarms/*?">
        <AlarmsPage />
      </Route>
      <Route path="/intents/*?">
        <IntentsPage />
      </Route>
      <Route path="/work/*?">
        <WorkPage />
      </Route>
      <Route path="/why/:outcome?">
        {({ outcome }) => <WhyPage key={outcome} outcome={outcome} />}
      </Route>
      <Route path="/rules" component={RulesPage} />
      <Route path="/keys" component={KeysPage} />
      <Route path="/health" component={HealthPage} />
      <Route path="/try" component={TryPage} />
      <Route>
        <Nowhere>This address leads nowhere.</Nowhere>
      </Route>
    </Switch>
  )
}

function OneSession({ part, watching }: { part: string; watching: boolean }) {
  const key = keyIn(part)
  if (key !== null) return <SessionPage key={key} sessionKey={key} watching={watching} />
  return (
    <Nowhere>
      A session’s key has three parts, user:agent:thread, of letters, digits, - and _.
    </Nowhere>
  )
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
