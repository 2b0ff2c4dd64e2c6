/**
 * Words, as keywords mean them: whole, whatever their case, in any language. A keyword of several words is
 * their sequence; punctuation between words does not matter.
 */

/** One spelling for all cases of a text: also ß and SS, ς and σ, and full-width letters. */
export function fold(text: string): string {
  return text.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

/** Scripts that write without spaces: there each letter is a word, and a keyword is a sequence of them. */
const UNSPACED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}'
const WORD = new RegExp(`[${UNSPACED}]\\p{M}*|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+`, 'gu')

export function wordsOf(text: string): string[] {
  return fold(text).match(WORD) ?? []
}

/** Whether the words of `phrase` stand one after another in `words`. */
export function holdsPhrase(words: readonly string[], phrase: readonly string[]): boolean {
  const [first] = phrase
  if (first === undefined) return false
  for (let at = words.indexOf(first); at >= 0; at = words.indexOf(first, at + 1)) {
    if (phrase.every((word, offset) => words[at + offset] === word)) return true
  }
  return false
}
