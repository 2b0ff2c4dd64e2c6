/** The frame around every page: where one can go, who one is, and how it looks. */

import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { showKey } from '../api/key.ts'
import { Tour } from '../tour/tour.tsx'
import { KeyScreen } from './key-screen.tsx'
import { useKey, useMe } from './me.ts'
import { isAt, PAGES } from './pages.ts'
import { useShortcuts } from './shortcuts.ts'
import { chooseTheme, chosenTheme, THEMES, type Theme } from './theme.ts'

export function Frame({ children }: { children: ReactNode }) {
  const main = useRef<HTMLElement>(null)
  const awaiting = useShortcuts()
  const { wanted } = useKey()
  if (wanted)
    return (
      <main>
        <KeyScreen />
      </main>
    )
  return (
    <div className="flex min-h-dvh flex-col lg:grid lg:grid-cols-[13.5rem_minmax(0,1fr)]">
      <button
        type="button"
        onClick={() => main.current?.focus()}
        className="sr-only focus:not-sr-only focus:absolute focus:z-20 focus:m-2 focus:rounded-lg focus:bg-panel focus:p-2"
      >
        Skip to the page
      </button>
      <header className="border-b border-line bg-panel lg:border-r lg:border-b-0">
        <div className="lg:sticky lg:top-0 lg:flex lg:h-dvh lg:flex-col lg:overflow-y-auto lg:px-3 lg:py-4">
          <div className="flex items-center justify-between px-4 pt-2 lg:px-2 lg:pt-0">
            <Link
              href="/"
              className="flex items-center gap-2 rounded py-1 font-semibold tracking-tight"
            >
              <img src="./favicon.svg" alt="" width="24" height="24" />
              <span>Wakeful</span>
            </Link>
            <div className="lg:hidden">
              <ThemeChoice id="theme-narrow" />
            </div>
          </div>
          <Navigation awaiting={awaiting} />
          <div className="mt-auto hidden flex-col gap-3 px-2 pt-4 text-sm lg:flex">
            <WhoAmI />
            <ThemeChoice id="theme" />
            <p className="text-xs text-muted">
              Keys: <kbd className="font-mono">g</kbd> and a letter goes to a page,{' '}
              <kbd className="font-mono">/</kbd> searches.
            </p>
            <p className="flex flex-col gap-1">
              <Link
                href="/try"
                className="text-muted underline-offset-4 hover:text-ink hover:underline"
              >
                Try a phrase
              </Link>
              <a
                href="./docs"
                className="text-muted underline-offset-4 hover:text-ink hover:underline"
              >
                Docs and API
              </a>
            </p>
          </div>
        </div>
      </header>
      <main
        ref={main}
        tabIndex={-1}
        className="mx-auto w-full max-w-7xl min-w-0 flex-1 px-4 py-5 outline-none sm:px-6 lg:py-7"
      >
        <Tour />
        {children}
      </main>
      <footer className="flex flex-wrap items-center justify-between gap-3 border-t border-line px-4 py-3 text-sm lg:hidden">
        <WhoAmI />
        <p className="flex gap-4">
          <Link href="/try" className="text-muted underline underline-offset-4">
            Try a phrase
          </Link>
          <a href="./docs" className="text-muted underline underline-offset-4">
            Docs and API
          </a>
        </p>
      </footer>
    </div>
  )
}

function Navigation({ awaiting }: { awaiting: boolean }) {
  const [path] = useLocation()
  const row = useRef<HTMLElement>(null)
  const current = useRef<HTMLAnchorElement>(null)
  // On a narrow screen the row of pages scrolls sideways: the one we are at is brought into view. Not by
  // `scrollIntoView`, which would also have the next Tab begin there instead of at the top.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path is another current link.
  useEffect(() => {
    if (row.current === null || current.current === null) return
    const { offsetLeft, offsetWidth } = current.current
    row.current.scrollLeft = offsetLeft - (row.current.clientWidth - offsetWidth) / 2
  }, [path])
  return (
    <nav
      ref={row}
      aria-label="Main"
      className="relative flex gap-1 overflow-x-auto px-2 text-sm [mask-image:linear-gradient(to_right,black_calc(100%-2.5rem),transparent)] [scrollbar-width:none] max-lg:pr-8 lg:mt-4 lg:[mask-image:none] lg:flex-col lg:overflow-visible lg:px-0"
    >
      {PAGES.map((page) => {
        const here = isAt(page, path)
        return (
          <Link
            key={page.href}
            href={page.href}
            ref={here ? current : null}
            aria-current={here ? 'page' : undefined}
            aria-keyshortcuts={`g ${page.letter}`}
            className="flex shrink-0 items-center justify-between border-b-2 border-transparent px-2 py-2.5 text-muted -outline-offset-2 hover:text-ink aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-ink lg:rounded-lg lg:border-b-0 lg:py-2 lg:hover:bg-sunk lg:aria-[current=page]:bg-sunk"
          >
            {page.label}
            {awaiting && (
              <span
                aria-hidden="true"
                className="ml-1 rounded border border-edge px-1.5 font-mono text-xs"
              >
                {page.letter}
              </span>
            )}
          </Link>
        )
      })}
    </nav>
  )
}

function WhoAmI() {
  const me = useMe()
  const { key } = useKey()
  const client = useQueryClient()
  if (me === undefined) return null
  const name = me.user_id ?? 'everybody’s things'
  return (
    <div className="leading-snug">
      <p>
        <span className="text-muted">You are </span>
        <span className="font-medium">{me.role}</span>
      </p>
      <p className="text-xs text-muted wrap-anywhere">
        {key === null ? 'this server is open on its own machine' : `a key for ${name}`}
      </p>
      {key !== null && (
        <button
          type="button"
          className="text-xs text-accent underline underline-offset-2"
          onClick={() => {
            client.clear()
            showKey(null)
          }}
        >
          Forget the key
        </button>
      )}
    </div>
  )
}

const THEME_NAMES: Readonly<Record<Theme, string>> = {
  system: 'As the system',
  light: 'Light',
  dark: 'Dark',
}

function ThemeChoice({ id }: { id: string }) {
  const [theme, setTheme] = useState(chosenTheme)
  return (
    <div>
      <label htmlFor={id} className="sr-only">
        Light or dark
      </label>
      <select
        id={id}
        value={theme}
        onChange={(event) => {
          const chosen = event.target.value as Theme
          chooseTheme(chosen)
          setTheme(chosen)
        }}
        className="rounded-lg border border-line bg-panel px-2 py-1 text-sm text-muted"
      >
        {THEMES.map((each) => (
          <option key={each} value={each}>
            {THEME_NAMES[each]}
          </option>
        ))}
      </select>
    </div>
  )
}
