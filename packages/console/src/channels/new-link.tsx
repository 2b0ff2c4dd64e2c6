/** A code by which somebody links themselves, or an address that is linked at once. */
import { type FormEvent, useState } from 'react'
import { useAct } from '../forms/act.ts'
import { useCapabilities } from '../forms/choices.ts'
import { SelectField, TextField } from '../forms/fields.tsx'
import { seesAll, useMe } from '../frame/me.ts'
import { Button } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import type { LinkCode, PersonLink } from './shapes.ts'

interface Props {
  readonly user: string
  readonly channels: readonly string[]
}

export function NewLink({ user, channels }: Props) {
  const [chosen, setChannel] = useState('')
  const { agents } = useCapabilities()
  const [typed, setSession] = useState<string | null>(null)
  const session = typed ?? (user === '' ? '' : `${user}:${agents[0] ?? 'agent'}:main`)
  const [address, setAddress] = useState('')
  const me = useMe()
  const make = useAct<LinkCode | PersonLink>(['links'])
  const channel = chosen || channels[0] || ''
  if (channels.length === 0)
    return (
      <p className="text-muted">
        No channel is set up. Telegram, Slack, e-mail, WhatsApp, Discord or a channel of your own:{' '}
        <a href="docs/channels.html" className="text-accent underline">
          how, in five steps each
        </a>
        .
      </p>
    )
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    const body = { channel, session_key: session, ...(address === '' ? {} : { address }) }
    make.mutate({ method: 'POST', path: 'v1/links', body })
  }
  const made = make.data
  return (
    <details className="rounded-md border border-line px-3 py-2">
      <summary className="cursor-pointer font-medium">
        Link {user === '' ? 'somebody' : user}
      </summary>
      <form onSubmit={onSubmit} className="mt-3 flex flex-col gap-3" noValidate>
        <SelectField
          id="link-channel"
          label="Channel"
          value={channel}
          choices={channels.map((name) => [name, name] as const)}
          onChange={setChannel}
        />
        <TextField
          id="link-session"
          label="Session"
          value={session}
          onChange={setSession}
          placeholder="ann:companion:main"
          hint="Person, agent and thread."
        />
        {seesAll(me) && (
          <TextField
            id="link-address"
            label="Address"
            value={address}
            onChange={setAddress}
            hint="Left empty: a code, by which they link themselves."
          />
        )}
        {make.error !== null && <Trouble error={make.error} onRetry={() => make.reset()} />}
        <Button type="submit" main disabled={make.isPending}>
          {address === '' ? 'Make a code' : 'Link it'}
        </Button>
      </form>
      {made !== undefined && 'code' in made && (
        <p role="status" className="mt-3 rounded-lg bg-own-soft px-3 py-2 text-sm wrap-anywhere">
          {made.words} <span className="text-muted">Good once, for 15 minutes.</span>
        </p>
      )}
    </details>
  )
}
