/** The frame around every page, and which page is at which address (after the `#`). */
import { useRef } from 'react'
import { Link, Route, Router, Switch, useLocation } from 'wouter'
import { useHashLocation } from 'wouter/use-hash-location'
import { HealthPage } from './health/health-page.tsx'
import { Heading } from './parts/parts.tsx'
import { TryPage } from './phrases/try-page.tsx'
import { keyIn } from './session/key.ts'
import { SessionPage } from './session/session-page.tsx'
import { SessionsPage } from './sessions/sessions-page.tsx'

const PAGES = [
  {
    href: '/',
    label: 'Sessions',
    owns: (path: string) => path === '/' || path.startsWith('/sessions'),
  },
  { href: '/try', label: 'Try a phrase', owns: (path: string) => path === '/try' },
  { href: '/health', label: 'Health', owns: (path: string) => path === '/health' },
]

export function App() {
  return (
    <Router hook={useHashLocation}>
      <Frame />
    </Router>
  )
}

function Frame() {
  const main = useRef<HTMLElement>(null)
  return (
    <div className="flex min-h-dvh flex-col">
      <button
        type="button"
        onClick={() => main.current?.focus()}
        className="sr-only focus:not-sr-only focus:absolute focus:z-10 focus:m-2 focus:rounded-lg focus:bg-panel focus:p-2"
      >
        Skip to the page
      </button>
      <TopBar />
      <main
        ref={main}
        tabIndex={-1}
        className="mx-auto w-full max-w-7xl flex-1 px-4 py-5 outline-none sm:px-6"
      >
        <Pages />
      </main>
    </div>
  )
}

function TopBar() {
  const [path] = useLocation()
  return (
    <header className="border-b border-line bg-panel">
      <div className="mx-auto flex w-full max-w-7xl items-center gap-x-4 sm:gap-x-6 px-4 sm:px-6">
        <Link href="/" className="flex items-center gap-2 py-3 font-semibold tracking-tight">
          <img src="./favicon.svg" alt="" width="24" height="24" />
          <span className="max-sm:sr-only">Wakeful</span>
        </Link>
        <nav aria-label="Main" className="-mx-2 flex gap-1 text-sm">
          {PAGES.map(({ href, label, owns }) => (
            <Link
              key={href}
              href={href}
              aria-current={owns(path) ? 'page' : undefined}
              className="border-b-2 border-transparent px-2 py-3 text-muted hover:text-ink aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-ink"
            >
              {label}
            </Link>
          ))}
        </nav>
        <a
          href="./docs"
          className="ml-auto hidden py-3 text-sm text-muted underline-offset-4 hover:text-ink hover:underline sm:block"
        >
          API reference
        </a>
      </div>
    </header>
  )
}

function Pages() {
  return (
    <Switch>
      <Route path="/" component={SessionsPage} />
      <Route path="/sessions/:key/watch">{({ key }) => <OneSession part={key} watching />}</Route>
      <Route path="/sessions/:key">{({ key }) => <OneSession part={key} watching={false} />}</Route>
      <Route path="/try" component={TryPage} />
      <Route path="/health" component={HealthPage} />
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
        Go to the sessions
      </Link>
    </Heading>
  )
}
