/** The few shapes that every page is made of. */
import type { ButtonHTMLAttributes, InputHTMLAttributes, ReactNode } from 'react'

const TONES = {
  plain: 'bg-sunk text-muted border-line',
  good: 'bg-good-soft text-good border-transparent',
  own: 'bg-own-soft text-own border-own-line',
  bad: 'bg-bad-soft text-bad border-transparent',
} as const
export type Tone = keyof typeof TONES

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
    <section aria-label={title} className="rounded-xl border border-line bg-panel">
      <div className="flex items-center justify-between gap-3 px-4 pt-3">
        <h2 className="text-sm font-semibold">{title}</h2>
        {aside}
      </div>
      <div className="px-4 pt-2 pb-4">{children}</div>
    </section>
  )
}

const BUTTON =
  'inline-flex min-h-9 items-center justify-center rounded-lg px-3.5 text-sm font-medium disabled:opacity-60'

export function Button(props: ButtonHTMLAttributes<HTMLButtonElement> & { main?: boolean }) {
  const { main = false, className = '', type = 'button', ...rest } = props
  const look = main
    ? 'bg-accent text-on-accent hover:opacity-90'
    : 'border border-edge bg-panel text-ink hover:bg-sunk'
  return <button type={type} className={`${BUTTON} ${look} ${className}`} {...rest} />
}

export const FIELD =
  'w-full min-w-0 rounded-lg border border-edge bg-panel px-3 py-2 text-ink aria-invalid:border-bad'

export function Field(
  props: InputHTMLAttributes<HTMLInputElement> & { id: string; label: string; hint?: ReactNode },
) {
  const { label, hint, className = '', ...rest } = props
  const hintId = `${rest.id}-hint`
  return (
    <div>
      <label htmlFor={rest.id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      <input
        className={`${FIELD} ${className}`}
        {...(hint === undefined ? {} : { 'aria-describedby': hintId })}
        {...rest}
      />
      {hint !== undefined && (
        <p id={hintId} className="mt-1 text-sm text-muted">
          {hint}
        </p>
      )}
    </div>
  )
}

export function Heading({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="mb-5">
      <title>{`${title} · Wakeful`}</title>
      <h1 className="text-2xl font-semibold tracking-tight">{title}</h1>
      {children !== undefined && (
        <p className="mt-1 max-w-prose text-balance text-muted">{children}</p>
      )}
    </div>
  )
}

/** An empty place that says what will come here, and how. */
export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="rounded-xl border border-dashed border-edge px-5 py-8 text-center">
      <p className="font-medium">{title}</p>
      <div className="mx-auto mt-1 max-w-prose text-sm text-pretty text-muted">{children}</div>
    </div>
  )
}
