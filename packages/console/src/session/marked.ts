/** Tables, lists, headings, code, emphasis and links: plain sentences need no reader. */
const MARKED = /^\s*(?:[#>|*+-]|\d+\.)\s?|\*\*|`|\]\(|^\s*[-:| ]{3,}$/m

export function isMarked(text: string): boolean {
  return MARKED.test(text)
}
