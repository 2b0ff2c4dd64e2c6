/** Opens a session by its key, new or known. It comes into being with its first message. */
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { Button, Field, Panel } from '../parts/parts.tsx'
import { randomId } from '../parts/random.ts'
import { beginEmpty } from '../session/kept.ts'
import { SESSION_KEY, SESSION_KEY_FORM, sessionAddress } from '../session/key.ts'

export function NewSession() {
  const client = useQueryClient()
  const [, go] = useLocation()
  const [made] = useState(() => `me:companion:${randomId(6)}`)
  const [key, setKey] = useState(made)
  const [refused, setRefused] = useState(false)
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (!SESSION_KEY.test(key)) {
      setRefused(true)
      return
    }
    if (key === made) beginEmpty(client, key)
    go(sessionAddress(key))
  }
  return (
    <Panel title="Start or open a session">
      <form onSubmit={onSubmit} className="flex flex-col gap-3" noValidate>
        <Field
          id="session-key"
          label="Session key"
          value={key}
          onChange={(event) => {
            setKey(event.target.value.trim())
            setRefused(false)
          }}
          aria-invalid={refused}
          autoComplete="off"
          spellCheck={false}
          className="font-mono text-sm"
          hint={
            <span role={refused ? 'alert' : undefined} className={refused ? 'text-bad' : ''}>
              {refused && 'This is not one. '}
              {SESSION_KEY_FORM}. The agent must exist on this server.
            </span>
          }
        />
        <Button main type="submit">
          Open session
        </Button>
      </form>
    </Panel>
  )
}
