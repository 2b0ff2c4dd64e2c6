/** When something happened in a session last. */
import type { ListedSession } from '../api/shapes.ts'
import { When } from '../parts/when.tsx'

export function LastActivity({ session }: { session: ListedSession }) {
  return <When at={session.last_activity_at ?? session.updated_at} as="both" />
}
