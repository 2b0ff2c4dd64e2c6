/** What may have changed: the server tells six of them, the others are for what is done here. */
export type Topic =
  | 'activity'
  | 'agents'
  | 'audit'
  | 'inbox'
  | 'keys'
  | 'ledger'
  | 'links'
  | 'overview'
  | 'people'
  | 'questions'
  | 'schedules'
  | 'sessions'
  | 'sources'
  | 'stops'
  | 'subscriptions'
  | 'work'

export function topicsIn(data: string): readonly Topic[] {
  const { topics = [] } = JSON.parse(data) as { topics?: readonly Topic[] }
  return topics
}
