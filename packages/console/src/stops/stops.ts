/** What is stopped now, and what it applies to. */
import { useRead } from '../api/query.ts'
import { useMe } from '../frame/me.ts'

export interface Stop {
  readonly id: string
  readonly level: 'everything' | 'agent' | 'user' | 'trigger'
  readonly target: string | null
  readonly reason: string
  readonly created_at: string
}

/** Empty for keys that may not see stops. */
export function useStops(): readonly Stop[] {
  const me = useMe()
  const mayLook = me?.role === 'admin' || me?.role === 'service'
  const { data } = useRead<{ data: readonly Stop[] }>('v1/stops', ['stops'], mayLook)
  return data?.data ?? []
}

export function nameOfStop({ level, target }: Pick<Stop, 'level' | 'target'>): string {
  if (level === 'everything') return 'everything'
  return `${level === 'user' ? 'person' : level} ${target}`
}

/** The stop that holds a session, or undefined. */
export function stopOf(stops: readonly Stop[], sessionKey: string): Stop | undefined {
  const [user, agent] = sessionKey.split(':')
  return stops.find(
    ({ level, target }) =>
      level === 'everything' ||
      (level === 'agent' && target === agent) ||
      (level === 'user' && target === user),
  )
}
