/** Work in plain words: research, a text or a report, now or on a schedule. */
import { type Meaning, type Place, unclear } from './meaning.ts'
import { type Sentence, wordsOf } from './sentence.ts'
import { type Span, spansOf, timeWordIn, whyNot } from './when.ts'

const RHYTHM = '(?:daily|weekly|monthly|hourly|nightly)'
const RESEARCH = new RegExp(
  `^(?:(?:do|make|run)(?: me)?(?: some| a bit of| a| an)?(?: (${RHYTHM}))? research (?:on|into|about)|research(?: on| into| about)?|investigate|look into|find out about)\\s+(?=\\S)`,
  'i',
)
const PIECE =
  '(?:article|blog post|blog entry|post|essay|story|poem|haiku|newsletter|piece|text|speech|letter|e-?mail|script|column|review|tutorial|guide|joke|tweet|thread|press release)s?'
const CONTENT = new RegExp(
  `^(?:write|draft|compose)(?: me| us)?(?: a| an| the| my| some)?(?: (${RHYTHM}))?((?: [\\w-]+){0,3}?) (${PIECE})(?![\\w-])`,
  'i',
)

export function working({ text, isQuestion }: Sentence, place: Place): Meaning | null {
  if (isQuestion) return null
  const words = wordsOf(text)
  const [begin] = spansOf(words, place, true)
  const isFirst = begin?.from === 0
  const said = isFirst
    ? words
        .slice(begin.to)
        .join(' ')
        .replace(/^[,:]\s*/, '')
    : text
  const research = RESEARCH.exec(said)
  const content = research === null ? CONTENT.exec(said) : null
  const lead = research ?? content
  if (lead === null) return null
  const type = research === null ? 'content' : 'research'
  const { 1: rhythm } = lead
  const plain = rhythm === undefined ? said : said.replace(new RegExp(`\\b${rhythm} `, 'i'), '')
  const spans = spansOf(wordsOf(plain), place, true)
  const times = [...(isFirst ? [begin] : []), ...spans]
  if (times.length + (rhythm === undefined ? 0 : 1) > 1)
    return unclear('two', 'there is more than one rhythm in it: write one at a time')
  const task = taskOf(plain, spans[0])
  return planned(type, task, times[0] ?? named(rhythm, place), place)
}

function named(rhythm: string | undefined, place: Place): Span | undefined {
  return rhythm === undefined ? undefined : spansOf([rhythm], place, true)[0]
}

/** The sentence without its schedule. */
function taskOf(plain: string, span: Span | undefined): string {
  const words = wordsOf(plain)
  const kept = span === undefined ? words : [...words.slice(0, span.from), ...words.slice(span.to)]
  const text = kept.join(' ').replace(/[\s,;:.!?-]+$/, '')
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}

function planned(
  type: 'research' | 'content',
  task: string,
  span: Span | undefined,
  place: Place,
): Meaning | null {
  const words = wordsOf(task)
  const left = timeWordIn(words)
  if (left?.rhythm === true)
    return unclear(
      'time',
      `I cannot put “${left.word}” and the rest of it into one rhythm; write for example “research AI trends every Monday at 8”`,
    )
  if (span !== undefined)
    return { is: 'work', type, task, phrase: span.phrase, parsed: span.parsed }
  // "research the flights tomorrow at 9" names one time, and work has none: it is a reminder.
  return spansOf(words, place).length > 0
    ? null
    : { is: 'work', type, task, phrase: null, parsed: null }
}

const REPORT =
  /^(?:(?:send|give|write)(?: me)? )?(?:a |the |my )?(?:(daily|weekly|monthly|hourly) )?(?:report|summary)\b/i
/** A report covers what happened here, nothing else. */
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
