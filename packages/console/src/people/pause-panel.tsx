/** Nothing but answers for a while, and the end of it. */
import { type FormEvent, useState } from 'react'
import { useAct } from '../forms/act.ts'
import { faultsOf } from '../forms/faults.ts'
import { FormTrouble, TextField } from '../forms/fields.tsx'
import { Button, Panel } from '../parts/parts.tsx'
import { When } from '../parts/when.tsx'
import { type Person, pathOf } from './shapes.ts'

export function PausePanel({ person }: { person: Person }) {
  const [until, setUntil] = useState('')
  const act = useAct<Person>(['people'], () => setUntil(''))
  const path = `${pathOf(person.user_id)}/pause`
  const faults = faultsOf(act.error, ['until'])
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    act.mutate({ method: 'POST', path, body: { until: until.trim() } })
  }
  if (person.paused_until !== null)
    return (
      <Panel title="Pause">
        <p className="mb-3 text-[13px]">
          Paused until <When at={person.paused_until} zone={person.timezone} as="both" />. Only
          answers and what is critical come before.
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
