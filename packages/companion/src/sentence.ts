/** Removes polite phrases around a sentence, and splits it into words; a quoted passage is one word. */

export interface Sentence {
  /** Without polite phrases. */
  readonly text: string
  /** Ends with a question mark and does not begin with "can you". */
  readonly isQuestion: boolean
}

const OPENERS =
  /^(?:(?:hey|hi|hello|yo|dear)(?:,? (?:there|companion|buddy|friend))?|good (?:morning|afternoon|evening|day)|thanks|thank you|please|pls|plz|kindly|ok|okay|oh|so|well|also|alright|actually|companion)\b[,!.:]* +(?=\S)/i
const ASKING =
  /^(?:(?:can|could|would|will) (?:you|u)|i (?:want|need) you to|i(?:'d| would) (?:like|love) you to|would you be so kind (?:as|and) to|be so kind (?:as|and) to|be a dear and|i was wondering if you (?:can|could))\b,? +/i
const CLOSERS =
  /(?:,? *(?:please|pls|plz|thanks|thank you|thx|cheers|would you|could you|can you|will you|for me|ok|okay|if you can|mate))[ .!?]*$/i

/** Removes polite phrases repeatedly: "hey, could you please … thanks". */
export function framed(said: string): Sentence {
  let text = said
  let asks = false
  for (let layer = 0; layer < 6; layer++) {
    const before = text
    text = text.replace(OPENERS, '')
    if (ASKING.test(text)) asks = true
    text = text.replace(ASKING, '')
    if (text === before) break
  }
  const isQuestion = !asks && /\?[\s!?.]*$/.test(said)
  for (let layer = 0; layer < 3; layer++) {
    const shorter = text.replace(CLOSERS, '')
    if (shorter.trim() === '') break
    text = shorter
  }
  return { text: text.replace(/[\s.!?…]+$/, '').trim(), isQuestion }
}

/** No alternative can fail after its first character, so this cannot backtrack. */
const WORD = /(?:"[^"]*"|“[^”]*”|\S)+/g

export function wordsOf(text: string): string[] {
  return text.match(WORD) ?? []
}

export function isQuoted(word: string): boolean {
  return /["“]/.test(word)
}

/** Lower case, without the punctuation around it. */
export function bareWord(word: string): string {
  return word
    .toLowerCase()
    .replace(/^[("'[]+/, '')
    .replace(/[.,:;!?)"'\]]+$/, '')
}
