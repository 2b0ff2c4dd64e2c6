/** One person: when, how often and by whom they want to be spoken to, and what waits for them. */
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { request } from '../api/http.ts'
import { usePeople, usePerson } from '../forms/choices.ts'
import { TextField } from '../forms/fields.tsx'
import { seesAll, useMe } from '../frame/me.ts'
import { Badge, Button, Heading } from '../parts/parts.tsx'
import { whenIn } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { DeferredPanel } from './deferred-panel.tsx'
import { PausePanel } from './pause-panel.tsx'
import { PreferencesForm } from './preferences-form.tsx'
import { LOOK_MS, PERSON, type Person, pathOf } from './shapes.ts'

/** `named`: in the address. */
export function PeoplePage({ named }: { named: string }) {
  const me = useMe()
  const [kept] = usePerson()
  const all = seesAll(me)
  const user = named || (all ? kept : me?.user_id) || ''
  return (
    <>
      <Heading title={user === '' ? 'People' : user}>
        When, how often and by whom this person wants to be spoken to, and what waits for a better
        moment. It holds for all agents and channels.
      </Heading>
      {all && <Whom key={user} user={user} />}
      {user !== '' && <OnePerson key={`of ${user}`} user={user} />}
    </>
  )
}

function Whom({ user }: { user: string }) {
  const [name, setName] = useState(user)
  const [, keep] = usePerson()
  const [, go] = useLocation()
  const people = usePeople()
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    keep(name.trim())
    go(`/people/${encodeURIComponent(name.trim())}`)
  }
  return (
    <form onSubmit={onSubmit} className="mb-5 flex max-w-md items-end gap-2">
      <div className="flex-1">
        <TextField
          id="person"
          label="Person"
          value={name}
          onChange={setName}
          list="person-names"
          maxLength={128}
        />
        <datalist id="person-names">
          {people.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </div>
      <Button type="submit" className="min-h-10.5">
        Show
      </Button>
    </form>
  )
}

function OnePerson({ user }: { user: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: [PERSON, user],
    queryFn: ({ signal }) => request<Person>(pathOf(user), { signal }),
    refetchInterval: LOOK_MS,
  })
  if (data === undefined)
    return error === null ? (
      <p className="text-muted">Loading …</p>
    ) : (
      <Trouble error={error} onRetry={() => void refetch()} />
    )
  return (
    <>
      {error !== null && <Trouble spaced error={error} onRetry={() => void refetch()} />}
      {data.quiet_until !== null && (
        <p className="mb-4">
          <Badge>quiet now, until {whenIn(data.quiet_until, data.timezone)}</Badge>
        </p>
      )}
      <div className="grid grid-cols-1 items-start gap-5 xl:grid-cols-2">
        <PreferencesForm person={data} />
        <div className="flex min-w-0 flex-col gap-5">
          <DeferredPanel person={data} />
          <PausePanel person={data} />
        </div>
      </div>
    </>
  )
}
