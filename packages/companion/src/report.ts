/** Reports: work that tells of what happened, now or on a rhythm. */
import { type Meaning, type Place, unclear } from './meaning.ts'
import { wordsOf } from './sentence.ts'
import { spansOf, whyNot } from './when.ts'

const REPORT =
  /^(?:(?:send|give|write)(?: me)? )?(?:a |the |my )?(?:(daily|weekly|monthly|hourly) )?(?:report|summary)\b/i
/** It tells of what happened here and of nothing else. */
const ABOUT =
  /^(?:(?:on|of|about|to me on) (?:what (?:has )?happened(?: lately)?|(?:my|the) (?:day|week|month)|it all)|to me|here|lately)?$/i

export function reporting(text: string, place: Place): Meaning | null {
  const words = wordsOf(text)
  const [begin] = spansOf(words, place, true)
  const isFirst = begin?.from === 0 && !REPORT.test(text)
  const said = isFirst ? words.slice(begin.to).join(' ') : text
  const lead = REPORT.exec(said)
  if (lead === null) return null
  const rest = wordsOf(`${lead[1] ?? ''} ${said.slice(lead[0].length)}`.trim())
  if (!isFirst && /^(?:now)?$/i.test(rest.join(' ')))
    return { is: 'report', phrase: null, parsed: null }
  const [span, ...more] = isFirst
    ? [begin, ...spansOf(rest, place, true)]
    : spansOf(rest, place, true)
  if (span === undefined) {
    if (ABOUT.test(rest.join(' '))) return { is: 'report', phrase: null, parsed: null }
    return unclear('time', ...whyNot(rest.join(' '), place, true))
  }
  const about = (isFirst ? rest : [...rest.slice(0, span.from), ...rest.slice(span.to)]).join(' ')
  if (more.length === 0 && ABOUT.test(about.replace(/[,:]$/, '')))
    return { is: 'report', phrase: span.phrase, parsed: span.parsed }
  return unclear(
    'other',
    'I report on what happened here and on nothing else: write “report daily at 6pm”, or “remind me every morning at 8 to read the news”',
  )
}
