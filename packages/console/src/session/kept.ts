/** What is kept of a session's rows, for pages that do not show them. */
import type { QueryClient } from '@tanstack/react-query'
import { NOTHING } from './joining.ts'
import { rowsKey } from './session-query.ts'

/** For a session made just now: it is known to be empty, so nobody need ask. */
export function beginEmpty(client: QueryClient, key: string): void {
  client.setQueryData(rowsKey(key), NOTHING)
}

export function lookAgain(client: QueryClient, key: string): Promise<void> {
  return client.invalidateQueries({ queryKey: rowsKey(key) })
}
