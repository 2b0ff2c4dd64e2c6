/** What the built-in executors write their Markdown as, where a file is asked for. */
import { page } from './page.ts'
import { word } from './word.ts'

const FORMATS = ['md', 'html', 'docx'] as const
export type Format = (typeof FORMATS)[number]

export async function formatted(
  format: Format,
  title: string,
  markdown: string,
): Promise<string | Uint8Array> {
  if (format === 'docx') return word(title, markdown)
  return format === 'html' ? page(title, markdown) : markdown
}

/** For people who gave another: each in quotes. */
const TAKEN = `"${FORMATS.slice(0, -1).join('", "')}" or "${FORMATS.at(-1)}"`

/** What is wrong with a format that was asked for; null asks for none. */
export function formatErrors(format: unknown): string[] {
  if (format === null || FORMATS.some((each) => each === format)) return []
  return [`parameters.format takes ${TAKEN}, got ${JSON.stringify(format)?.slice(0, 100)}`]
}
