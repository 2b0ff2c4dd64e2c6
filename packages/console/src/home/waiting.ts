/** What waits for somebody, as the server lists it, and what can be done about a failure. */
import { entryPath, type LedgerEntry } from '../api/ledger.ts'
import { useRead } from '../api/query.ts'
import { useAct } from '../forms/act.ts'
import type { Question } from '../questions/options.tsx'

export interface Failure extends LedgerEntry {
  readonly retryable?: boolean
}

export interface Undelivered {
  readonly session_key: string
  readonly effect_id: string
  readonly created_at: string
  readonly preview: string
  readonly reason: string
}

interface InboxAnswer {
  readonly failures: readonly Failure[]
  readonly questions: readonly Question[]
  readonly undelivered: readonly Undelivered[]
  readonly counts: {
    readonly failures: number
    readonly questions: number
    readonly undelivered: number
  }
}

const LIMIT = 20

export function useInbox() {
  return useRead<InboxAnswer>(`v1/inbox?limit=${LIMIT}`, ['inbox', 'ledger', 'questions'])
}

export function useFailureActs(id: string) {
  const path = entryPath(id)
  const topics = ['inbox', 'ledger', 'schedules', 'overview'] as const
  const retry = useAct(topics)
  const dismiss = useAct(topics)
  return {
    busy: retry.isPending || dismiss.isPending,
    error: retry.error ?? dismiss.error,
    retry: () => retry.mutate({ method: 'POST', path: `${path}/retry` }),
    dismiss: () => dismiss.mutate({ method: 'POST', path: `${path}/dismiss` }),
    isRetried: retry.isSuccess,
  }
}
