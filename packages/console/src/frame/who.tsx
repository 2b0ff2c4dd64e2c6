/** Whom this page's credentials stand for, and whether it is light or dark. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { showKey } from '../api/key.ts'
import { useKey, useMe } from './me.ts'
import { chooseTheme, chosenTheme, THEMES, type Theme } from './theme.ts'

export function WhoAmI() {
  const me = useMe()
  const { key } = useKey()
  const client = useQueryClient()
  if (me === undefined) return null
  const name = me.user_id ?? 'everybody’s data'
  return (
    <div className="leading-snug">
      <p>
        <span className="text-muted">You are </span>
        <span className="font-medium">{me.role}</span>
      </p>
      <p className="text-xs text-muted wrap-anywhere">
        {key === null ? 'open on this machine, no key needed' : `a key for ${name}`}
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
          Sign out
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

export function ThemeChoice({ id }: { id: string }) {
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
        className="rounded-md border border-line bg-panel px-2 py-1 text-[13px] text-muted"
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
