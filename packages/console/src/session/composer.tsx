/** Where one talks to the agent. Enter sends, Shift+Enter makes a new line. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import {
  type FormEvent,
  type KeyboardEvent,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { Problem, request } from '../api/http.ts'
import { Button, FIELD } from '../parts/parts.tsx'
import { randomId } from '../parts/random.ts'
import { Trouble } from '../parts/trouble.tsx'
import { takeDrafts } from './draft.ts'
import { lookAgain } from './kept.ts'
import { pathOf } from './session-query.ts'

interface Message {
  readonly text: string
  /** Ours, so that sending it twice says it once. */
  readonly id: string
}

interface Props {
  readonly sessionKey: string
  readonly watching: boolean
  /** The person one acts as, where that is somebody else. */
  readonly actAs: string | undefined
  /** Just created, so the text field gets the focus. */
  readonly fresh: boolean
}

export function Composer({ sessionKey, watching, actAs, fresh }: Props) {
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (fresh) field.current?.focus()
  }, [fresh])
  const client = useQueryClient()
  const [text, setText] = useState('')
  const drafts = useDrafts(setText)
  // Selected, so that Enter sends it and typing replaces it.
  useLayoutEffect(() => {
    if (drafts > 0) field.current?.select()
  }, [drafts])
  const send = useMutation({
    mutationFn: (message: Message) =>
      request(`${pathOf(sessionKey)}/messages`, {
        method: 'POST',
        actAs,
        body: { ...message, timezone: Intl.DateTimeFormat().resolvedOptions().timeZone },
      }),
    onSuccess: (_answer, message) => {
      setText((now) => (now === message.text ? '' : now))
      return lookAgain(client, sessionKey)
    },
  })
  if (watching) return null

  const submit = () => {
    if (text.trim() === '' || send.isPending) return
    // After a failure the same text goes out under the same id: the first try may have arrived.
    const again = send.isError && send.variables.text === text
    send.mutate({ text, id: again ? send.variables.id : randomId(16) })
  }
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    submit()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    submit()
  }
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-2 border-t border-line p-3">
      {send.error !== null && <NotSent error={send.error} />}
      <div className="flex items-end gap-2">
        <label htmlFor="composer" className="sr-only">
          Message to the agent
        </label>
        <textarea
          id="composer"
          ref={field}
          rows={1}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          placeholder={
            actAs === undefined ? 'Say something to the agent' : `Say something as ${actAs}`
          }
          className={`${FIELD} field-sizing-content max-h-40 min-h-9 resize-none`}
        />
        <Button main type="submit" disabled={send.isPending} className="min-h-9">
          Send
        </Button>
      </div>
    </form>
  )
}

/** How many sentences were put here so far. */
function useDrafts(onDraft: (text: string) => void): number {
  const [count, setCount] = useState(0)
  useEffect(
    () =>
      takeDrafts((text) => {
        onDraft(text)
        setCount((before) => before + 1)
      }),
    [onDraft],
  )
  return count
}

function NotSent({ error }: { error: Error }) {
  const passing = error instanceof Problem && (error.status === 0 || error.status >= 500)
  if (!passing) return <Trouble error={error} />
  return (
    <Trouble
      error={error}
      advice="Your text is still here. Send it again when the server is back; it will be said only once."
    />
  )
}
