/** What the page Now knows: what comes, what has been, and how fast turns run. Looked at again and again. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { answerOf, Problem, serverNow } from '../api/http.ts'
import { type LedgerEntry, readLedger } from '../api/ledger.ts'
import { readOverview } from '../api/overview.ts'
import { countTurns, perMinute, type Sample, withSample } from '../api/turn-rate.ts'
import { SPANS, type Span } from './marks.ts'

const LOOK_MS = 2_000
const RATE_MS = 3_000
const PAST_MAX = 200
const RATE = ['turn-rate'] as const

export function useNowData(span: Span) {
  const client = useQueryClient()
  const { aheadMs, pastMs } = SPANS[span]
  const overview = useQuery({
    queryKey: ['overview', span],
    queryFn: ({ signal }) => readOverview(new Date(serverNow() + aheadMs).toISOString(), signal),
    refetchInterval: LOOK_MS,
  })
  const past = useQuery({
    queryKey: ['ledger', 'now', span],
    queryFn: ({ signal }) => readPast(pastMs, signal),
    refetchInterval: LOOK_MS,
  })
  const rate = useQuery({
    queryKey: RATE,
    queryFn: ({ signal }) => sampleRate(client.getQueryData<readonly Sample[]>(RATE) ?? [], signal),
    refetchInterval: RATE_MS,
  })
  return { overview, past, turnsPerMinute: perMinute(rate.data ?? []) }
}

async function readPast(pastMs: number, signal: AbortSignal): Promise<readonly LedgerEntry[]> {
  const from = new Date(serverNow() - pastMs).toISOString()
  return (await readLedger({ from, limit: PAST_MAX }, signal)).data
}

async function sampleRate(before: readonly Sample[], signal: AbortSignal) {
  const answer = await answerOf('metrics', { signal })
  if (!answer.ok) throw new Problem(answer.status, 'The metrics cannot be read', [])
  return withSample(before, { atMs: performance.now(), turns: countTurns(await answer.text()) })
}
