/** Phrases that work, and which of them come nearest to one that does not. */

/** Every one of these parses; a test keeps it so. */
export const EXAMPLES = [
  'daily at 09:00',
  'every weekday at 08:30',
  'every weekday at 08:30 and 17:00',
  'every morning at 8',
  'every monday at 10:00',
  'every monday and thursday at 07:00',
  'every saturday and sunday at 10:00',
  'daily except sundays at 09:00',
  'weekly on monday at 09:00',
  'monthly on the 1st at 12:00',
  'last day of each month at 17:00',
  'every first friday of the month at 09:00',
  'every last friday of the month at 09:00',
  'every december 25th at 09:00',
  'every august 20 and 30 at 09:00',
  'every 15 minutes',
  'every 45 minutes',
  'every 6 hours',
  'every hour',
  'every 2 weeks',
  '@every 1h30m',
  '0 9 * * 1-5',
  'once',
] as const

export const ONE_OFF_EXAMPLES = [
  'in 20 minutes',
  'in 2 hours',
  'tomorrow at 09:00',
  'tomorrow morning',
  'today at 17:30',
  'tonight at 8pm',
  'next friday at 14:00',
  'on 24 december at 18:00',
  'at 17:00',
] as const

const SAME: Record<string, string> = {
  day: 'dail',
  days: 'dail',
  min: 'minu',
  mins: 'minu',
  hr: 'hour',
  hrs: 'hour',
  mon: 'mond',
  fri: 'frid',
  dec: 'dece',
}
const EMPTY = new Set('every at on the of and each 00 30'.split(' '))

/** Four letters tell Monday from month. */
function stems(text: string): Set<string> {
  const words = text.toLowerCase().split(/[^a-z0-9]+/)
  const meant = words.filter((word) => word !== '' && !EMPTY.has(word))
  return new Set(meant.map((word) => SAME[word] ?? word.slice(0, 4)))
}

/** The three examples that share most words with `text`, in the order above where they share equally many. */
export function nearest(text: string, oneOff: boolean): string[] {
  const wanted = stems(text)
  const examples = oneOff ? [...EXAMPLES, ...ONE_OFF_EXAMPLES] : [...EXAMPLES]
  const score = (example: string) => {
    const found = stems(example)
    let shared = 0
    for (const stem of found) if (wanted.has(stem)) shared += 1
    return shared / Math.sqrt(Math.max(1, found.size))
  }
  return examples
    .map((example) => ({ example, score: score(example) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, 3)
    .map(({ example }) => example)
}
