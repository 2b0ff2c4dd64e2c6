/** The pieces of forms. Each has its label, its hint, and its error where the eye is. */
import type { ReactNode, SelectHTMLAttributes, TextareaHTMLAttributes } from 'react'
import { FIELD, Field } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import type { Faults } from './faults.ts'

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone')]

export function hintOf(fault: string | undefined, hint?: ReactNode): ReactNode {
  if (fault === undefined) return hint
  return (
    <span role="alert" className="text-bad">
      {fault.charAt(0).toUpperCase() + fault.slice(1)}
    </span>
  )
}

interface TextProps {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly fault?: string | undefined
  readonly hint?: ReactNode
  readonly placeholder?: string
  readonly type?: string
  readonly list?: string
  readonly maxLength?: number
  readonly inputMode?: 'text' | 'numeric' | 'decimal'
}

export function TextField({ fault, hint, onChange, ...rest }: TextProps) {
  const words = hintOf(fault, hint)
  return (
    <Field
      {...rest}
      onChange={(event) => onChange(event.target.value)}
      aria-invalid={fault !== undefined}
      autoComplete="off"
      {...(words === undefined ? {} : { hint: words })}
    />
  )
}

interface Around {
  readonly id: string
  readonly label: string
  readonly hint?: ReactNode
  readonly fault?: string | undefined
}

function Labelled({ id, label, hint, fault, children }: Around & { children: ReactNode }) {
  const words = hintOf(fault, hint)
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-[13px] font-medium">
        {label}
      </label>
      {children}
      {words !== undefined && (
        <p id={`${id}-hint`} className="mt-1 text-[13px] text-muted">
          {words}
        </p>
      )}
    </div>
  )
}

const described = ({ id, hint, fault }: Around) =>
  hint === undefined && fault === undefined ? {} : { 'aria-describedby': `${id}-hint` }

type AreaProps = Around &
  Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'onChange'> & {
    readonly id: string
    readonly onChange: (value: string) => void
  }

export function AreaField({ label, hint, fault, onChange, ...rest }: AreaProps) {
  const around = { id: rest.id, label, hint, fault }
  return (
    <Labelled {...around}>
      <textarea
        rows={3}
        {...rest}
        {...described(around)}
        aria-invalid={fault !== undefined}
        onChange={(event) => onChange(event.target.value)}
        className={`${FIELD} field-sizing-content max-h-60 min-h-20`}
      />
    </Labelled>
  )
}

type SelectProps<T extends string> = Around &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange'> & {
    readonly id: string
    readonly value: T
    readonly choices: readonly (readonly [value: T, words: string])[]
    readonly onChange: (value: T) => void
  }

export function SelectField<T extends string>(props: SelectProps<T>) {
  const { label, hint, fault, choices, onChange, ...rest } = props
  const around = { id: rest.id, label, hint, fault }
  return (
    <Labelled {...around}>
      <select
        {...rest}
        {...described(around)}
        aria-invalid={fault !== undefined}
        onChange={(event) => onChange(event.target.value as T)}
        className={`${FIELD} min-h-9`}
      >
        {choices.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </Labelled>
  )
}

export function ZoneField(props: {
  id: string
  value: string
  onChange: (value: string) => void
  fault?: string | undefined
  hint?: string
}) {
  return (
    <>
      <TextField {...props} label="Time zone" list={`${props.id}-zones`} maxLength={64} />
      <datalist id={`${props.id}-zones`}>
        {ZONES.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}

/** What no field could show. */
export function FormTrouble({ error, faults }: { error: Error | null; faults: Faults }) {
  if (error === null) return null
  const shown = 'errors' in error && (error.errors as readonly string[]).length > 0
  if (shown && faults.rest.length === 0)
    return (
      <p role="alert" className="text-[13px] text-bad">
        Not saved: change what is marked above.
      </p>
    )
  return <Trouble error={error} />
}
