/** Why a phrase was refused, and the phrases that the server names, in quotes, as ones that work. */
import { Problem } from '../api/http.ts'

const SUGGESTING = 'phrases that work: '

export function reasonsIn(error: Error): string[] {
  if (!(error instanceof Problem)) return []
  return error.errors.filter((text) => !text.startsWith(SUGGESTING))
}

export function suggestionsIn(error: Error): string[] {
  if (!(error instanceof Problem)) return []
  return error.errors
    .filter((text) => text.startsWith(SUGGESTING))
    .flatMap((text) => Array.from(text.matchAll(/"([^"]+)"/g), ([, phrase = '']) => phrase))
}
