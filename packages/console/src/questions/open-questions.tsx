/** Questions that wait for a person's word, newest first; renders nothing without any. */
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { request } from '../api/http.ts'
import type { Page } from '../api/shapes.ts'
import { useNow } from '../parts/clock.ts'
import { Panel } from '../parts/parts.tsx'
import { leftUntil } from '../parts/time.ts'
import { sessionAddress } from '../session/key.ts'
import { type Asked, Options, QUESTIONS } from './options.tsx'

const ROWS = 20
const LOOK_MS = 5_000

interface Question extends Asked {
  readonly session_key: string
  readonly user_id: string
  readonly text: string
  readonly default_answer: string | null
  readonly until_at: string | null
}

export function OpenQuestions() {
  const { data } = useQuery({
    queryKey: [QUESTIONS, 'open'],
    queryFn: ({ signal }) =>
      request<Page<Question>>(`v1/questions?status=open&limit=${ROWS}`, { signal }),
    refetchInterval: LOOK_MS,
  })
  const rows = data?.data ?? []
  if (rows.length === 0) return null
  return (
    <Panel title="Open questions">
      <ul aria-label="Open questions" className="divide-y divide-line">
        {rows.map((row) => (
          <Open key={row.id} question={row} />
        ))}
      </ul>
    </Panel>
  )
}

function Open({ question }: { question: Question }) {
  const now = useNow()
  const { session_key: key, text, user_id: who, default_answer: answer, until_at: until } = question
  return (
    <li className="flex flex-col gap-2 py-2 sm:flex-row sm:items-center">
      <div className="min-w-0 flex-1 text-sm">
        <Link href={sessionAddress(key)} className="font-medium wrap-anywhere hover:underline">
          {text}
        </Link>
        <p className="text-muted">
          {who}
          {until !== null && ` · “${answer}” in ${leftUntil(until, now)} unless answered`}
        </p>
      </div>
      <Options question={question} sessionKey={key} />
    </li>
  )
}
