/** What the built-in executors write their Markdown as, where a file is asked for. */
import { page } from './page.ts'
import { word } from './word.ts'

export const FORMATS = ['md', 'html', 'docx'] as const
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
export const FORMATS_TAKEN = `"${FORMATS.slice(0, -1).join('", "')}" or "${FORMATS.at(-1)}"`
