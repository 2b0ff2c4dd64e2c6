/**
 * The notice that work is ready. It comes to a conversation as an event, and its turn is not run by the agent
 * there: one message says so, and the agent's state stays untouched, whatever kind of agent it is.
 */
import type { TurnAction } from '../features/sessions/turn.ts'
import type { Agent, TurnInput, TurnResult } from './agent.ts'
import { promiseFor } from './promise.ts'

const EXCERPT_LINES = 3
const EXCERPT_MAX = 280

export interface NoticePayload {
  readonly notice: true
  readonly work_id: string
  readonly run_number: number
  readonly agent_type: string
  readonly title: string
  /** The first lines of what was produced. */
  readonly excerpt: string
  readonly file_url: string | null
  /** It did not succeed; `excerpt` says why. */
  readonly failed?: boolean
  /** The run before did not succeed, and this one did. */
  readonly recovered?: boolean
}

/** Of the product itself: that a limit was reached. */
interface PlainNotice {
  readonly notice: true
  readonly text: string
}

/** An agent as it runs here: notices and promises from outside are told for it, and it knows who does work. */
export function withNotices(agent: Agent, workTypes: readonly string[] = []): Agent {
  return {
    kind: agent.kind,
    timeoutMs: agent.timeoutMs,
    concurrency: agent.concurrency,
    runsInForecasts: agent.runsInForecasts ?? false,
    run: async (input) => {
      const notice = noticeOf(input)
      const own = notice === null ? promiseFor(input) : told(notice)
      // Not a copy: that would ask for its signal, which is made for who wants one.
      return own ?? agent.run(Object.assign(input, { workTypes }))
    },
  }
}

/** Events of this type are made by the product alone, so the mark on them is to be trusted. */
function noticeOf({ event }: TurnInput): NoticePayload | PlainNotice | null {
  if (event.type !== 'work') return null
  const payload = JSON.parse(event.payload) as Partial<NoticePayload>
  return payload.notice === true ? (payload as NoticePayload) : null
}

function told(notice: NoticePayload | PlainNotice): TurnResult {
  const content = 'text' in notice ? notice.text : noticeText(notice)
  const wish: TurnAction = { type: 'send_message', content }
  return { wishes: [wish], checkpointId: null, points: [] }
}

export function noticeText(notice: NoticePayload): string {
  const { title, run_number, excerpt, failed = false, recovered = false } = notice
  const became = failed ? 'failed' : recovered ? 'works again and is ready' : 'is ready'
  const rest = failed ? ' You hear of it again when it succeeds.' : ''
  const head = `"${title}" ${became} (run ${run_number}).${rest}`
  return excerpt === '' ? head : `${head}\n\n${excerpt}`
}

/** What only arranges a document: headings, rules, fences, and the line under a table's head. */
const ARRANGES = /^(#{1,6}(\s|$)|([-*_]\s*){3,}$|=+$|```|~~~|\|?\s*:?-+:?\s*(\|\s*:?-*:?\s*)*$)/

/** The first lines that say something: a message is read where nobody renders Markdown. */
export function excerptOf(content: string, title: string): string {
  const lines = content.slice(0, 8 * EXCERPT_MAX).split('\n')
  const told = lines
    .map((line) => line.trim())
    .filter((line) => line !== '' && !ARRANGES.test(line))
  if (told[0] === title) told.shift()
  const text = told.slice(0, EXCERPT_LINES).join('\n')
  const cut = text.length > EXCERPT_MAX ? `${text.slice(0, EXCERPT_MAX - 1)}…` : text
  return cut.replaceAll(/\p{Surrogate}/gu, '\uFFFD')
}
