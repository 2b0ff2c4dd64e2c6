/** What is known of one thing, as names and values. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'

export type Fact = readonly [name: string, value: ReactNode]

/** Facts without a value are left out. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="grid grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-2 text-sm sm:gap-x-6">
      {facts
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0 wrap-anywhere">{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** Above the page of one thing: the way back, and its state. */
export function Back(props: { href: string; to: string; children?: ReactNode }) {
  return (
    <div className="mb-2 flex items-center justify-between gap-3 text-sm">
      <Link href={props.href} className="text-accent underline underline-offset-4">
        ← {props.to}
      </Link>
      {props.children}
    </div>
  )
}
