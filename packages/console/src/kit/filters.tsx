/** What stands above a list. Every filter is kept in the address. */
import { type ReactNode, useEffect, useState } from 'react'
import type { Filters } from '../frame/address.ts'
import { useSettled } from '../parts/clock.ts'
import { Icon } from '../parts/icon.tsx'
import type { IconName } from '../parts/icon-paths.ts'

const TYPING_MS = 200
const CONTROL =
  'h-8 min-w-0 rounded-md border border-line bg-panel px-2 text-[13px] text-ink hover:border-edge'

export function FilterBar({ children }: { children: ReactNode }) {
  return (
    <search aria-label="Filters" className="mb-3 flex flex-wrap items-center gap-2">
      {children}
    </search>
  )
}

interface WordsProps {
  readonly filters: Filters
  readonly name: string
  readonly label: string
  readonly list?: string
  readonly className?: string
  /** Reached by `/`. */
  readonly main?: boolean
}

/** Words that are looked for once one stops typing. */
export function WordsFilter({ filters, name, label, list, className = '', main }: WordsProps) {
  const known = filters.get(name)
  const { set } = filters
  const [typed, setTyped] = useState<string | null>(null)
  const settled = useSettled(typed, TYPING_MS)
  useEffect(() => {
    if (settled === null) return
    set({ [name]: settled.trim() })
    // From now on the address says what is typed, also when it is changed elsewhere.
    setTyped((now) => (now === settled ? null : now))
  }, [settled, name, set])
  return (
    <label className={`relative ${className}`}>
      <span className="sr-only">{label}</span>
      {main && (
        <Icon name="search" className="pointer-events-none absolute top-2 left-2 text-muted" />
      )}
      <input
        type={main ? 'search' : 'text'}
        value={typed ?? known}
        placeholder={label}
        list={list}
        maxLength={128}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
        className={`${CONTROL} w-full ${main ? 'pl-8!' : ''}`}
      />
    </label>
  )
}

interface ChoiceProps {
  readonly filters: Filters
  readonly name: string
  readonly label: string
  /** The value in the address and what it is called. The empty one holds without a filter. */
  readonly choices: readonly (readonly [value: string, words: string])[]
}

export function ChoiceFilter({ filters, name, label, choices }: ChoiceProps) {
  const value = filters.get(name)
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => filters.set({ [name]: event.target.value })}
      className={`${CONTROL} ${value === '' ? '' : 'border-accent! font-medium'}`}
    >
      {choices.map(([each, words]) => (
        <option key={each} value={each}>
          {words}
        </option>
      ))}
    </select>
  )
}

interface TabsProps<T extends string> {
  readonly label: string
  readonly choices: readonly (readonly [value: T, words: string, icon?: IconName])[]
  readonly value: T
  readonly onChange: (value: T) => void
}

/** One of a few, all of them in sight. */
export function Tabs<T extends string>({ label, choices, value, onChange }: TabsProps<T>) {
  return (
    <fieldset className="flex max-w-full min-w-0 flex-wrap rounded-md bg-sunk p-0.5 text-[13px]">
      <legend className="sr-only">{label}</legend>
      {choices.map(([each, words, icon]) => (
        <button
          key={each}
          type="button"
          aria-pressed={value === each}
          onClick={() => onChange(each)}
          className="inline-flex min-h-7 items-center gap-1.5 rounded-[0.3rem] px-2.5 whitespace-nowrap text-muted hover:text-ink aria-pressed:bg-panel aria-pressed:font-medium aria-pressed:text-ink aria-pressed:shadow-xs"
        >
          {icon !== undefined && <Icon name={icon} className="max-sm:hidden" />}
          {words}
        </button>
      ))}
    </fieldset>
  )
}
