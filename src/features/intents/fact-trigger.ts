/** Facts as conditions read them: their words, and what is told of them when they fire. */

import { storableText } from '../../core/text.ts'
import { type Fact, wordsOf } from './condition.ts'
import type { CalendarFact, EventFact, NewsFact, SignalKind } from './signal.ts'

/** What an agent is told of a long text. */
const SHOWN_MAX = 2000
/** The same headlines come back with every look; to split them into words takes longer than all the rest. */
const read = new Map<string, Fact>()
const READ_MAX = 5000

interface Stored {
  readonly fact: string
  readonly payload: string
  readonly at: Date
  /** Of an event that was told just now: JSON text. */
  readonly data?: string | null
  /** Its data is in its row. */
  readonly has_data?: boolean
}

/** `id`: of the row, where it is kept already. Entries may change under theirs. */
export function factOf(
  kind: Exclude<SignalKind, 'price'>,
  stored: Stored,
  id: string | null,
): Fact {
  if (kind === 'calendar') return entryOf(stored)
  const known = id === null ? undefined : read.get(id)
  if (known !== undefined) return known
  const fact = kind === 'news' ? newsOf(stored) : eventOf(stored, id)
  if (id !== null) {
    if (read.size >= READ_MAX) read.clear()
    read.set(id, fact)
  }
  return fact
}

function newsOf({ fact, payload, at }: Stored): Fact {
  const { headline, body, url } = JSON.parse(payload) as NewsFact
  const shown = { headline, ...cut('body', body), ...(url === undefined ? {} : { url }) }
  const texts = [wordsOf(headline), wordsOf(body ?? '')]
  return { key: fact, at, texts, shown: { ...shown, at: at.toISOString() } }
}

function eventOf({ fact, payload, at, data, has_data }: Stored, id: string | null): Fact {
  const { name, text } = JSON.parse(payload) as EventFact
  const shown = { name, ...cut('text', text), at: at.toISOString() }
  const texts = [wordsOf(name), wordsOf(text ?? '')]
  return { key: fact, at, texts, shown, data: data ?? null, dataId: has_data ? id : null }
}

/** One that was moved is another: it fires again. */
function entryOf({ fact, payload, at }: Stored): Fact {
  const shown = JSON.parse(payload) as CalendarFact
  return {
    key: `${fact} ${at.toISOString()}`,
    at,
    texts: [wordsOf(shown.title)],
    shown: { ...shown },
  }
}

function cut(name: string, text: string | undefined): Record<string, string> {
  return text === undefined ? {} : { [name]: storableText(text, SHOWN_MAX) }
}
