/** People, agents and sessions as links to their pages. */
import { Link } from 'wouter'
import { sessionAddress } from '../session/key.ts'

const LINK = 'relative z-10 underline-offset-2 hover:underline'

export function PersonLink({ id }: { id: string }) {
  return (
    <Link href={`/people/${encodeURIComponent(id)}`} className={LINK}>
      {id}
    </Link>
  )
}

export function AgentLink({ id }: { id: string | null | undefined }) {
  if (id === null || id === undefined || id === '') return <span className="text-muted">–</span>
  return (
    <Link href={`/agents/${encodeURIComponent(id)}`} className={LINK}>
      {id}
    </Link>
  )
}

export function SessionLink({ id, words = id }: { id: string; words?: string }) {
  return (
    <Link
      href={sessionAddress(id)}
      className="relative z-10 text-accent underline underline-offset-2 wrap-anywhere"
    >
      {words}
    </Link>
  )
}

/** Covers its whole row: one click anywhere opens it. */
export function RowLink({ href, children }: { href: string; children: string }) {
  return (
    <Link href={href} className="font-medium after:absolute after:inset-0 hover:underline">
      {children}
    </Link>
  )
}
