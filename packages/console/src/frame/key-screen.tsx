/** Asks for a key, where the server wants one. */
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { answerOf } from '../api/http.ts'
import { showKey, shownKey } from '../api/key.ts'
import { Button, Field, Heading } from '../parts/parts.tsx'

export function KeyScreen() {
  const client = useQueryClient()
  const [given, setGiven] = useState('')
  const [trouble, setTrouble] = useState(
    shownKey() === null
      ? ''
      : 'The server does not take this key any more: it was revoked or has expired.',
  )
  const [asking, setAsking] = useState(false)
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault()
    const key = given.trim()
    if (key === '') return
    setAsking(true)
    const answer = await answerOf('v1/me', { key }).catch((error: Error) => error)
    setAsking(false)
    if (answer instanceof Error) setTrouble(`${answer.message}. Is the server running?`)
    else if (answer.status === 401)
      setTrouble('The server knows no such key. Check that all of it was copied.')
    else if (answer.status === 429)
      setTrouble(
        'The server knows no such key, and many wrong ones came from here. Check that all of it was copied.',
      )
    else if (!answer.ok) setTrouble(`The server answered ${answer.status}. Try again in a moment.`)
    else {
      // What was read before belongs to somebody else.
      client.clear()
      showKey(key)
    }
  }
  return (
    <div className="mx-auto w-full max-w-md px-4 pt-[12vh]">
      <Heading title="Sign in with a key">This server requires an API key.</Heading>
      <form onSubmit={onSubmit} className="flex flex-col gap-4" noValidate>
        <Field
          id="key"
          label="Key"
          type="password"
          value={given}
          onChange={(event) => setGiven(event.target.value)}
          autoComplete="off"
          spellCheck={false}
          aria-invalid={trouble !== ''}
          className="font-mono text-sm"
          hint={
            <span
              role={trouble === '' ? undefined : 'alert'}
              className={trouble === '' ? '' : 'text-bad'}
            >
              {trouble === ''
                ? 'It stays in this tab and is forgotten when you close it.'
                : trouble}
            </span>
          }
        />
        <Button main type="submit" disabled={asking || given.trim() === ''}>
          Sign in
        </Button>
      </form>
      <p className="mt-6 text-sm text-muted">
        No key yet? The operator of this server makes one with{' '}
        <code className="font-mono text-[0.9em] wrap-anywhere">
          wakeful keys create --role user --user ann
        </code>
        , or under System, Keys with an admin key such as WAKEFUL_ADMIN_KEY.
      </p>
    </div>
  )
}
