/** The text of a message; an agent's Markdown is drawn as such, and its reader is loaded with the first one. */
import { lazy, Suspense } from 'react'
import { isMarked } from './marked.ts'

const Markdown = lazy(() =>
  import('../markdown/markdown.tsx').then((module) => ({ default: module.Markdown })),
)

export function MessageText({ text, formatted }: { text: string; formatted: boolean }) {
  const plain = <p className="whitespace-pre-wrap">{text}</p>
  if (!formatted || !isMarked(text)) return plain
  return (
    <Suspense fallback={plain}>
      <Markdown text={text} breaks />
    </Suspense>
  )
}
