/** What stands above a list: words to look for, and which rows to show. */
import { FIELD } from '../parts/parts.tsx'

interface SearchProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}

export function Search({ label, value, onChange }: SearchProps) {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      autoComplete="off"
      maxLength={100}
      className={`${FIELD} flex-1 basis-56`}
    />
  )
}

interface ChoiceProps<T extends string> {
  readonly label: string
  readonly choices: readonly (readonly [value: T, words: string])[]
  readonly value: T
  readonly onChange: (value: T) => void
}

/** More than this do not fit into one row of a small screen. */
const ROW_MAX = 5

/** One of a few, all of them in sight. */
export function Choice<T extends string>({ label, choices, value, onChange }: ChoiceProps<T>) {
  return (
    <fieldset
      className={`flex max-w-full min-w-0 overflow-x-auto rounded-lg bg-sunk p-1 text-sm max-sm:w-full ${choices.length > ROW_MAX ? 'max-sm:grid max-sm:grid-cols-3' : ''}`}
    >
      <legend className="sr-only">{label}</legend>
      {choices.map(([each, words]) => (
        <button
          key={each}
          type="button"
          aria-pressed={value === each}
          onClick={() => onChange(each)}
          className="min-h-8 flex-1 rounded-md px-3 whitespace-nowrap max-sm:px-2 text-muted aria-pressed:bg-panel aria-pressed:font-medium aria-pressed:text-ink"
        >
          {words}
        </button>
      ))}
    </fieldset>
  )
}
