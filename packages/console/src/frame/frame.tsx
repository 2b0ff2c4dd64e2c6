/** The frame around every page: where one can go, what is stopped, whether the server answers. */
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { followChanges } from '../api/changes.ts'
import { Icon } from '../parts/icon.tsx'
import { StopBanner } from '../stops/banner.tsx'
import { Tour } from '../tour/tour.tsx'
import { useFilters } from './address.ts'
import { AwayBanner } from './away.tsx'
import { KeyScreen } from './key-screen.tsx'
import { Later, later } from './later.tsx'
import { mayChange, useKey, useMe } from './me.ts'
import { isAt, PAGES } from './pages.ts'
import { useShortcuts } from './shortcuts.ts'
import { ThemeChoice, WhoAmI } from './who.tsx'

const Palette = later(async () => (await import('./palette.tsx')).Palette)
const NewSchedule = later(async () => (await import('../schedule/new-schedule.tsx')).NewSchedule)

export function Frame({ children }: { children: ReactNode }) {
  const { wanted, key } = useKey()
  if (wanted)
    return (
      <main>
        <KeyScreen />
      </main>
    )
  return <Shell key={key}>{children}</Shell>
}

function Shell({ children }: { children: ReactNode }) {
  const main = useRef<HTMLElement>(null)
  const client = useQueryClient()
  const filters = useFilters()
  const [searching, setSearching] = useState(false)
  const mayMake = mayChange(useMe())
  const make = () => filters.set({ new: '1' })
  const awaiting = useShortcuts({ onSearch: () => setSearching(true), onNew: make })
  useEffect(() => followChanges(client), [client])
  const close = () => setSearching(false)
  return (
    <div className="flex min-h-dvh flex-col lg:grid lg:grid-cols-[12.5rem_minmax(0,1fr)]">
      <button
        type="button"
        onClick={() => main.current?.focus()}
        className="sr-only focus:not-sr-only focus:absolute focus:z-40 focus:m-2 focus:rounded-lg focus:bg-panel focus:p-2"
      >
        Skip to the page
      </button>
      <header className="border-b border-line bg-panel lg:border-r lg:border-b-0">
        <div className="flex items-center gap-2 px-3 py-2 lg:sticky lg:top-0 lg:h-dvh lg:flex-col lg:items-stretch lg:gap-1 lg:overflow-y-auto lg:py-3">
          <Link
            href="/"
            className="flex items-center gap-2 rounded px-1.5 py-1 font-semibold tracking-tight lg:mb-2"
          >
            <img src="./favicon.svg" alt="" width="20" height="20" />
            <span>Wakeful</span>
          </Link>
          <SearchButton onClick={() => setSearching(true)} />
          {mayMake && <NewButton onClick={make} />}
          <Navigation awaiting={awaiting} />
          <div className="mt-auto hidden flex-col gap-2 px-1.5 pt-4 text-[13px] lg:flex">
            <WhoAmI />
            <ThemeChoice id="theme" />
            <a href="./docs" className="text-muted underline-offset-4 hover:underline">
              Docs and API
            </a>
          </div>
        </div>
      </header>
      <main
        ref={main}
        tabIndex={-1}
        className="mx-auto w-full max-w-[84rem] min-w-0 flex-1 px-4 py-4 outline-none max-lg:pb-24 sm:px-6"
      >
        <AwayBanner />
        <StopBanner />
        <Tour />
        {children}
      </main>
      <footer className="flex flex-wrap items-center justify-between gap-3 border-t border-line px-4 py-3 pb-20 text-[13px] lg:hidden">
        <WhoAmI />
        <ThemeChoice id="theme-narrow" />
        <a href="./docs" className="text-muted underline underline-offset-4">
          Docs and API
        </a>
      </footer>
      {searching && <Later page={Palette} props={{ onClose: close }} quiet />}
      {filters.get('new') !== '' && mayMake && <Later page={NewSchedule} props={{}} quiet />}
    </div>
  )
}

function SearchButton({ onClick }: { onClick: () => void }) {
  return (
    <button
      type="button"
      onClick={onClick}
      aria-keyshortcuts="Meta+K Control+K"
      className="flex h-8 items-center gap-2 rounded-md border border-line px-2 text-[13px] text-muted hover:border-edge hover:text-ink max-lg:ml-auto"
    >
      <Icon name="search" />
      <span className="max-sm:sr-only">Search</span>
      <span aria-hidden="true" className="ml-auto text-xs max-lg:hidden">
        ⌘K
      </span>
    </button>
  )
}

function NewButton({ onClick }: { onClick: () => void }) {
  return (
    <button
      type="button"
      onClick={onClick}
      aria-keyshortcuts="n Meta+N"
      className="flex h-8 items-center gap-2 rounded-md bg-accent px-2 text-[13px] font-medium text-on-accent hover:opacity-90 lg:my-1"
    >
      <Icon name="plus" />
      New
      <span aria-hidden="true" className="ml-auto text-xs font-normal max-lg:hidden">
        n
      </span>
    </button>
  )
}

/** Beside the page, or at the foot of a narrow screen. */
function Navigation({ awaiting }: { awaiting: boolean }) {
  const [path] = useLocation()
  return (
    <nav
      aria-label="Main"
      className="flex text-[13px] max-lg:fixed max-lg:inset-x-0 max-lg:bottom-0 max-lg:z-30 max-lg:justify-around max-lg:border-t max-lg:border-line max-lg:bg-panel max-lg:px-1 max-lg:pb-[env(safe-area-inset-bottom)] lg:mt-2 lg:flex-col lg:gap-0.5"
    >
      {PAGES.map((page) => (
        <Link
          key={page.href}
          href={page.href}
          aria-current={isAt(page, path) ? 'page' : undefined}
          aria-keyshortcuts={`g ${page.letter}`}
          className="flex items-center rounded-md text-muted -outline-offset-2 hover:bg-sunk hover:text-ink aria-[current=page]:font-medium aria-[current=page]:text-ink max-lg:min-w-0 max-lg:flex-1 max-lg:flex-col max-lg:gap-0.5 max-lg:py-1.5 max-lg:text-[11px] max-lg:aria-[current=page]:text-accent lg:gap-2.5 lg:px-2 lg:py-1.5 lg:aria-[current=page]:bg-sunk"
        >
          <Icon name={page.icon} />
          {page.label}
          {awaiting && (
            <span
              aria-hidden="true"
              className="ml-auto rounded border border-edge px-1.5 font-mono text-xs max-lg:hidden"
            >
              {page.letter}
            </span>
          )}
        </Link>
      ))}
    </nav>
  )
}
