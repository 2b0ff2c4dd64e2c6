/** Makes a key and shows it, once. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { refresh } from '../api/changes.ts'
import { Problem, request, serverNow } from '../api/http.ts'
import { Button, FIELD, Field, Panel } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { type Key, ROLES, type Role } from './key.ts'

const MEANINGS: Readonly<Record<Role, string>> = {
  user: 'A person: reads and cancels their own, writes messages.',
  agent: 'An agent: everything of the one person it works for.',
  service: 'An app of yours: acts for every person, makes no keys.',
  worker: 'An outside worker: claims due intents and reports, nothing else.',
  admin: 'You: everything, keys included.',
}
const DAY_MS = 86_400_000
const LIVES = [
  ['', 'Never'],
  ['1', 'In a day'],
  ['30', 'In 30 days'],
  ['365', 'In a year'],
] as const

type Made = Key & { readonly key: string | null }

export function NewKey() {
  const client = useQueryClient()
  const [role, setRole] = useState<Role>('user')
  const [user, setUser] = useState('')
  const [agent, setAgent] = useState('')
  const [days, setDays] = useState('')
  const make = useMutation({
    mutationFn: () =>
      request<Made>('v1/keys', { method: 'POST', body: bodyOf(role, user, agent, days) }),
    onSuccess: () => refresh(client, ['keys']),
  })
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    make.mutate()
  }
  if (make.data !== undefined) return <Shown made={make.data} onDone={() => make.reset()} />
  const owned = role === 'user' || role === 'agent' || role === 'worker'
  const refused = (field: string) =>
    make.error instanceof Problem && make.error.message.includes(field)
  return (
    <Panel title="Make a key">
      <form onSubmit={onSubmit} className="flex flex-col gap-3" noValidate>
        <div>
          <label htmlFor="role" className="mb-1 block text-[13px] font-medium">
            Role
          </label>
          <select
            id="role"
            value={role}
            onChange={(event) => setRole(event.target.value as Role)}
            aria-describedby="role-hint"
            className={`${FIELD} py-2.5`}
          >
            {ROLES.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
          <p id="role-hint" className="mt-1 text-[13px] text-muted">
            {MEANINGS[role]}
          </p>
        </div>
        {owned && (
          <Field
            id="key-user"
            label="Person"
            value={user}
            onChange={(event) => setUser(event.target.value)}
            placeholder={role === 'worker' ? 'everybody' : 'ann'}
            autoComplete="off"
            spellCheck={false}
            aria-invalid={refused('user_id')}
          />
        )}
        {role === 'agent' && (
          <Field
            id="key-agent"
            label="Only this agent’s sessions"
            value={agent}
            onChange={(event) => setAgent(event.target.value)}
            placeholder="all"
            autoComplete="off"
            spellCheck={false}
            aria-invalid={refused('agent_id')}
          />
        )}
        <div>
          <label htmlFor="key-life" className="mb-1 block text-[13px] font-medium">
            Expires
          </label>
          <select
            id="key-life"
            value={days}
            onChange={(event) => setDays(event.target.value)}
            className={`${FIELD} py-2.5`}
          >
            {LIVES.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </div>
        {make.error !== null && <Trouble error={make.error} />}
        <Button main type="submit" disabled={make.isPending}>
          Make key
        </Button>
      </form>
    </Panel>
  )
}

function bodyOf(role: Role, user: string, agent: string, days: string) {
  const owned = role === 'user' || role === 'agent' || role === 'worker'
  return {
    role,
    ...(owned && user.trim() !== '' ? { user_id: user.trim() } : {}),
    ...(role === 'agent' && agent.trim() !== '' ? { agent_id: agent.trim() } : {}),
    ...(days === ''
      ? {}
      : { expires_at: new Date(serverNow() + Number(days) * DAY_MS).toISOString() }),
  }
}

function Shown({ made, onDone }: { made: Made; onDone: () => void }) {
  const [copied, setCopied] = useState<boolean | null>(null)
  const copy = async () => {
    // Missing on plain http beyond localhost: then the text is there to be selected.
    const done = await navigator.clipboard?.writeText(made.key ?? '').then(
      () => true,
      () => false,
    )
    setCopied(done === true)
  }
  return (
    <Panel title="Your new key">
      <p className="text-[13px]">Copy it now: it is not shown again, and nobody can look it up.</p>
      <output
        aria-label="The new key"
        className="mt-2 block rounded-lg border border-own-line bg-own-soft p-3 font-mono text-[13px] break-all text-ink select-all"
      >
        {made.key}
      </output>
      <div className="mt-3 flex items-center gap-2">
        <Button main onClick={() => void copy()}>
          Copy
        </Button>
        <Button onClick={onDone}>I have it</Button>
        <span role="status" className="text-[13px] text-muted">
          {copied === true && 'Copied.'}
          {copied === false && 'Select it and copy.'}
        </span>
      </div>
    </Panel>
  )
}
