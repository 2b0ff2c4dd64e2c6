/** What was passed on, as JSON, with a way to copy it. */
import { useState } from 'react'
import { Icon } from '../parts/icon.tsx'
import { Button, Panel } from '../parts/parts.tsx'

interface Props {
  readonly title: string
  readonly value: unknown
  /** The same for people, where it has words. */
  readonly text?: string | undefined
}

export function Payload({ title, value, text }: Props) {
  const [copied, setCopied] = useState<boolean | null>(null)
  const json = JSON.stringify(value, null, 2)
  const copy = async () => {
    // Missing on plain http beyond localhost: then the text is there to be selected.
    const done = await navigator.clipboard?.writeText(json).then(
      () => true,
      () => false,
    )
    setCopied(done === true)
  }
  return (
    <Panel
      title={title}
      aside={
        <span className="flex items-center gap-2">
          <span role="status" className="text-xs text-muted">
            {copied === true && 'Copied'}
            {copied === false && 'Select it and copy'}
          </span>
          <Button aria-label={`Copy ${title}`} onClick={() => void copy()}>
            <Icon name="copy" /> Copy
          </Button>
        </span>
      }
    >
      {text !== undefined && <p className="mb-2 whitespace-pre-wrap wrap-anywhere">{text}</p>}
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: else it could not be scrolled by keyboard
        tabIndex={0}
        className="max-h-80 overflow-auto rounded-md bg-sunk p-3 font-mono text-xs whitespace-pre-wrap wrap-anywhere"
      >
        {json}
      </pre>
    </Panel>
  )
}
