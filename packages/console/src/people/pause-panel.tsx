/** Nothing but answers for a while, and the end of it. */
import { type FormEvent, useState } from 'react'
import { useAct } from '../forms/act.ts'
import { faultsOf } from '../forms/faults.ts'
import { FormTrouble, TextField } from '../forms/fields.tsx'
import { useNow } from '../parts/clock.ts'
import { Button, Panel } from '../parts/parts.tsx'
import { fromNow, whenIn } from '../parts/time.ts'
import { PERSON, type Person, pathOf } from './shapes.ts'

const MINUTE = 60_000

export function PausePanel({ person }: { person: Person }) {
  const [until, setUntil] = useState('')
  const now = useNow(MINUTE)
  const act = useAct<Person>(PERSON, () => setUntil(''))
  const path = `${pathOf(person.user_id)}/pause`
  const faults = faultsOf(act.error, ['until'])
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    act.mutate({ method: 'POST', path, body: { until: until.trim() } })
  }
  if (person.paused_until !== null)
    return (
      <Panel title="Pause">
        <p className="mb-3 text-sm">
          Paused until{' '}
          <time dateTime={person.paused_until} className="font-medium">
            {whenIn(person.paused_until, person.timezone)}
          </time>
          , {fromNow(person.paused_until, now)}. Only answers and what is critical come before.
        </p>
        <Button disabled={act.isPending} onClick={() => act.mutate({ method: 'DELETE', path })}>
          Resume
        </Button>
        <FormTrouble error={act.error} faults={faults} />
      </Panel>
    )
  return (
    <Panel title="Pause">
      <form onSubmit={onSubmit} className="flex flex-col gap-3" noValidate>
        <TextField
          id="pause-until"
          label="Until"
          value={until}
          onChange={setUntil}
          placeholder="tomorrow at 9am"
          maxLength={200}
          fault={faults.of('until')}
          hint="Only answers and what is critical come before."
        />
        <FormTrouble error={act.error} faults={faults} />
        <Button type="submit" className="self-start" disabled={act.isPending}>
          Pause
        </Button>
      </form>
    </Panel>
  )
}
