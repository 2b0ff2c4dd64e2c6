/** The few shapes that every page is made of. */
import type { ButtonHTMLAttributes, InputHTMLAttributes, ReactNode } from 'react'
import type { Tone } from './tone.ts'

const TONES = {
  plain: 'bg-sunk text-muted border-line',
  good: 'bg-good-soft text-good border-transparent',
  own: 'bg-own-soft text-own border-own-line',
  bad: 'bg-bad-soft text-bad border-transparent',
} as const satisfies Record<Tone, string>

export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={`inline-flex items-center gap-1 whitespace-nowrap rounded-full border px-2 py-0.5 text-xs font-medium ${TONES[tone]}`}
    >
      {children}
    </span>
  )
}

export function Panel({
  title,
  aside,
  children,
}: {
  title: string
  aside?: ReactNode
  children: ReactNode
}) {
  return (
    <section aria-label={title} className="min-w-0 rounded-lg border border-line bg-panel">
      <div className="flex min-h-11 items-center justify-between gap-3 px-4 pt-2">
        <h2 className="text-[13px] font-semibold">{title}</h2>
        {aside}
      </div>
      <div className="px-4 pt-0.5 pb-4">{children}</div>
    </section>
  )
}

const BUTTON =
  'inline-flex min-h-8 items-center justify-center gap-1.5 rounded-md px-3 text-[13px] font-medium whitespace-nowrap disabled:opacity-60'

export function Button(props: ButtonHTMLAttributes<HTMLButtonElement> & { main?: boolean }) {
  const { main = false, className = '', type = 'button', ...rest } = props
  const look = main
    ? 'bg-accent text-on-accent hover:opacity-90'
    : 'border border-line bg-panel text-ink hover:border-edge hover:bg-sunk'
  return <button type={type} className={`${BUTTON} ${look} ${className}`} {...rest} />
}

export const FIELD =
  'w-full min-w-0 rounded-md border border-edge bg-panel px-2.5 py-1.5 text-ink aria-invalid:border-bad'

export function Field(
  props: InputHTMLAttributes<HTMLInputElement> & { id: string; label: string; hint?: ReactNode },
) {
  const { label, hint, className = '', ...rest } = props
  const hintId = `${rest.id}-hint`
  return (
    <div>
      <label htmlFor={rest.id} className="mb-1 block text-[13px] font-medium">
        {label}
      </label>
      <input
        className={`${FIELD} ${className}`}
        {...(hint === undefined ? {} : { 'aria-describedby': hintId })}
        {...rest}
      />
      {hint !== undefined && (
        <p id={hintId} className="mt-1 text-[13px] text-muted">
          {hint}
        </p>
      )}
    </div>
  )
}

interface HeadingProps {
  readonly title: string
  /** Beside it: what one can do here. */
  readonly aside?: ReactNode
  readonly children?: ReactNode
}

export function Heading({ title, aside, children }: HeadingProps) {
  return (
    <div className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2">
      <title>{`${title} · Wakeful`}</title>
      <h1 className="text-xl font-semibold tracking-tight wrap-anywhere">{title}</h1>
      {children !== undefined && <div className="text-[13px] text-muted">{children}</div>}
      {aside !== undefined && (
        <div className="ml-auto flex flex-wrap items-center gap-2">{aside}</div>
      )}
    </div>
  )
}

/** An empty place that says what will come here, and how. */
export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="rounded-lg border border-dashed border-line px-5 py-8 text-center">
      <p className="font-medium">{title}</p>
      <div className="mx-auto mt-1 max-w-prose text-sm text-pretty text-muted">{children}</div>
    </div>
  )
}
