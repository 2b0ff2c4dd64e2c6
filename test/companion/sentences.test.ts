/** Two hundred sentences: each means what it says, is asked back, or is refused; none is half understood. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Meaning, Reminder } from '../../packages/companion/src/meaning.ts'
import { understand } from '../../packages/companion/src/understand.ts'
import { parsePhrase, ScheduleError } from '../../packages/schedule/src/index.ts'
import { CASES, NOW, type Outcome, ZONE } from './sentences.ts'

const place = { timezone: ZONE, now: NOW }

function setBy(meaning: Meaning): readonly Reminder[] {
  if (meaning.is === 'remind') return [meaning]
  return meaning.is === 'remind_all' ? meaning.reminders : []
}

function outcomeOf(meaning: Meaning): Outcome | Meaning {
  if (meaning.is === 'offer') return 'asked'
  if (meaning.is !== 'unclear') return meaning
  if (meaning.about === 'anything') return 'no wish'
  return meaning.about === 'what' || meaning.about === 'when' ? `${meaning.about}?` : 'refused'
}

const bare = (text: string) =>
  text
    .toLowerCase()
    .replaceAll('’', "'")
    .split(/\s+/)
    .map((word) => word.replaceAll(/[^\p{L}\p{N}:'&-]/gu, '').replace(/^-$|:$/, ''))
    .filter((word) => word !== '')

/** Words of leads, of politeness, and those that join a thing to a time. */
const FRAME = new Set(
  bare(
    `remind me again please pls plz hey hi hello there ok okay can could would will you u i i'd i'm want need like to be
    reminded so kind that about of for set up make create add give a an new reminder alarm nudge wake ping tell message
    don't dont let forget remember sure note self thanks thx and then also`,
  ),
)
const TIME =
  /\b(?:every|each|daily|weekly|monthly|yearly|hourly|today|tonight|tomorrow|yesterday|mornings?|afternoons?|evenings?|nights?|noon|midnight|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?|\d{1,2}:\d\d|\d{1,2}\s?[ap]m|at \d{1,2}|o'clock|in \d+ (?:sec|min|hour|day|week)\w*|until|next (?:week|month|year))\b/i

/** What is set holds no time in its text, and of the sentence nothing is lost: lead + time + thing. */
function whole(sentence: string, reminders: readonly Reminder[]): void {
  const words = bare(sentence.replace(/^good morning, /i, ''))
  for (const { phrase, what } of reminders) {
    expect(what.replaceAll(/["“][^"”]*["”]/g, ''), sentence).not.toMatch(TIME)
    for (const word of [...bare(phrase), ...bare(what)]) {
      const at = words.indexOf(word)
      // "wake up" is what waking means.
      if (at < 0 && what === 'wake up') continue
      expect(at, `“${word}” of “${sentence}”`).toBeGreaterThanOrEqual(0)
      words.splice(at, 1)
    }
  }
  expect(
    words.filter((word) => !FRAME.has(word)),
    sentence,
  ).toEqual([])
}

describe('what must come of each sentence', () => {
  test.each(CASES.map((each) => [each.sentence, each] as const))(
    '%s',
    (sentence, { set, outcome }) => {
      const meaning = understand(sentence, place)
      const found = setBy(meaning)
      expect(found.map(({ parsed, what }) => [parsed.canonical, what])).toEqual(set)
      const came = outcomeOf(meaning)
      if (typeof outcome === 'string') expect(came).toBe(outcome)
      else expect(came).toMatchObject(outcome)
      if (found.length > 0) whole(sentence, found)
    },
  )
})

test('there are two hundred of them, each once, and 85 % of those with a time and a thing are understood', () => {
  expect(new Set(CASES.map(({ sentence }) => sentence)).size).toBe(CASES.length)
  expect(CASES.length).toBeGreaterThanOrEqual(200)
  const stated = CASES.filter(({ states }) => states)
  const understood = stated.filter(({ set }) => set.length > 0)
  expect(understood.length / stated.length).toBeGreaterThanOrEqual(0.85)
})

const PHRASES = [
  ...['tomorrow at 9', 'in 20 minutes', 'at 5pm', 'tonight', 'on friday at 2pm', 'next monday'],
  ...[
    'every weekday at 8:30',
    'every morning at 8',
    'every weekday at 8:30 and 17:00',
    'daily at 9am',
  ],
  ...[
    'every aug 20 and 30',
    'monthly on the 1st and 15th at noon',
    'every hour',
    'tomorrow morning',
  ],
  ...[
    'half past 4 tomorrow',
    'on 24 december at 6pm',
    'every monday morning',
    'at 9 or 10',
    'next week',
  ],
  ...[
    'every other monday',
    'soon',
    'every day until june',
    'at 25:00',
    'at about 5',
    'by tomorrow',
  ],
]
const FRAMES: readonly ((first: string, last: string, thingFirst: boolean) => string)[] = [
  (first, last, thingFirst) =>
    `remind me ${thingFirst ? 'to ' : ''}${first} ${thingFirst ? '' : 'to '}${last}`,
  (first, last) => `please remind me ${first} ${last}`,
  (first, last, thingFirst) =>
    `Can you remind me ${thingFirst ? 'to ' : ''}${first} ${thingFirst ? '' : 'to '}${last}, please?`,
  (first, last) => `set a reminder for ${first} ${last}`,
  (first, last) => `${first}: ${last}`,
  (first, last) => `${first}. ${last}.`,
  (first, last) => `${first} ${last}`,
  (first, last) => `hey, ${first} remind me to ${last} thanks`,
]
const glued = (words: readonly string[]) =>
  fc.record({
    thing: fc
      .array(fc.constantFrom(...words), { minLength: 1, maxLength: 5 })
      .map((list) => list.join(' ')),
    phrase: fc.constantFrom(...PHRASES),
    frame: fc.constantFrom(...FRAMES),
    thingFirst: fc.boolean(),
  })
const SAFE =
  'buy milk call mum Bob the my car new pizza with two room plan happy not stop cancel move is I was 12'.split(
    ' ',
  )
const RISKY = [
  ...SAFE,
  ...'sun may at in on to and for every 8 9am tomorrow morning about minutes week monday remind me until no'.split(
    ' ',
  ),
]

function canonicalOf(phrase: string): string | null {
  try {
    return parsePhrase(phrase, { timezone: ZONE, now: NOW.getTime() }).canonical
  } catch (error) {
    if (error instanceof ScheduleError) return null
    throw error
  }
}

test('a thing and a phrase glued together set exactly these two, or nothing', () => {
  let understood = 0
  fc.assert(
    fc.property(glued(SAFE), ({ thing, phrase, frame, thingFirst }) => {
      const sentence = thingFirst ? frame(thing, phrase, true) : frame(phrase, thing, false)
      const found = setBy(understand(sentence, place))
      if (found.length === 0) return
      understood += 1
      expect(
        found.map(({ parsed, what }) => [parsed.canonical, what]),
        sentence,
      ).toEqual([[canonicalOf(phrase), thing]])
    }),
    { numRuns: 1500, seed: 77 },
  )
  expect(understood).toBeGreaterThan(300)
})

test('whatever is glued together, what is set keeps every word and no time in its text', () => {
  fc.assert(
    fc.property(glued(RISKY), ({ thing, phrase, frame, thingFirst }) => {
      const sentence = thingFirst ? frame(thing, phrase, true) : frame(phrase, thing, false)
      const found = setBy(understand(sentence, place))
      if (found.length > 0) whole(sentence, found)
    }),
    { numRuns: 1500, seed: 77 },
  )
})
