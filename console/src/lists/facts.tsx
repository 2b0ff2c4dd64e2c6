/** What is known of one thing, as names and values. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'

export type Fact = readonly [name: string, value: ReactNode]

/** Facts without a value are left out. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="grid grid-cols-1 gap-x-6 text-sm sm:grid-cols-[max-content_minmax(0,1fr)] sm:gap-y-2">
      {facts
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name} className="contents max-sm:block max-sm:pb-2">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0 wrap-anywhere">{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** Above the page of one thing: its name, and the way back. */
export function Back({ href, to }: { href: string; to: string }) {
  return (
    <p className="mb-2 text-sm">
      <Link href={href} className="text-accent underline underline-offset-4">
        ← {to}
      </Link>
    </p>
  )
}
