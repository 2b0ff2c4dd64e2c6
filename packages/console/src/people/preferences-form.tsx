/** When, how often and by whom somebody wants to be spoken to: drawn, and changed. */
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useAct } from '../forms/act.ts'
import { useCapabilities } from '../forms/choices.ts'
import { faultsOf } from '../forms/faults.ts'
import { FormTrouble, TextField, ZoneField } from '../forms/fields.tsx'
import { Button, Panel } from '../parts/parts.tsx'
import { QuietFields } from './quiet-fields.tsx'
import { QuietWeek } from './quiet-week.tsx'
import { type Person, pathOf, type QuietWindow } from './shapes.ts'

interface Draft {
  readonly timezone: string
  readonly quiet: readonly QuietWindow[]
  readonly most: string
  readonly muted: readonly string[]
}

const FIELDS = ['timezone', 'quiet_hours', 'most_unasked_per_day', 'muted_agents']

function draftOf(person: Person): Draft {
  return {
    timezone: person.timezone_known ? person.timezone : '',
    quiet: person.quiet_hours,
    most: person.most_unasked_per_day?.toString() ?? '',
    muted: person.muted_agents,
  }
}

/** "7:30" is "07:30"; whatever else is wrong the server says. */
const clockOf = (text: string) => text.trim().padStart(5, '0')

function bodyOf({ timezone, quiet, most, muted }: Draft): object {
  const many = most.trim()
  return {
    timezone: timezone.trim() || null,
    quiet_hours: quiet.map((each) => ({
      ...each,
      from: clockOf(each.from),
      to: clockOf(each.to),
    })),
    // What is no number goes as it is: as a number it would be null, which means no limit.
    most_unasked_per_day: many === '' ? null : /^-?\d+$/.test(many) ? Number(many) : many,
    muted_agents: muted,
  }
}

export function PreferencesForm({ person }: { person: Person }) {
  const [edited, setEdited] = useState<Draft | null>(null)
  const client = useQueryClient()
  const save = useAct<Person>(['people'], (answer) => {
    client.setQueryData([pathOf(person.user_id)], answer)
    setEdited(null)
  })
  const draft = edited ?? draftOf(person)
  const change = (part: Partial<Draft>) => setEdited({ ...draft, ...part })
  const faults = faultsOf(save.error, FIELDS)
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate({ method: 'PUT', path: pathOf(person.user_id), body: bodyOf(draft) })
  }
  return (
    <Panel title="Preferences">
      <form onSubmit={onSubmit} className="flex flex-col gap-5" noValidate>
        <QuietWeek windows={draft.quiet} zone={person.timezone} />
        <QuietFields
          windows={draft.quiet}
          onChange={(quiet) => change({ quiet })}
          fault={faults.of('quiet_hours')}
        />
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
          <ZoneField
            id="person-zone"
            value={draft.timezone}
            onChange={(timezone) => change({ timezone })}
            fault={faults.of('timezone')}
            {...(person.timezone_known
              ? {}
              : { hint: `Not known yet: the server’s own, ${person.timezone}, is used.` })}
          />
          <TextField
            id="person-most"
            label="Most unprompted messages a day"
            value={draft.most}
            onChange={(most) => change({ most })}
            fault={faults.of('most_unasked_per_day')}
            hint={
              person.most_unasked_per_day === null
                ? 'Left empty: no limit.'
                : `${person.unasked_today} of ${person.most_unasked_per_day} today. Left empty: no limit.`
            }
            inputMode="numeric"
          />
        </div>
        <MutedFields muted={draft.muted} onChange={(muted) => change({ muted })} />
        <FormTrouble error={save.error} faults={faults} />
        <div className="flex flex-wrap gap-2">
          <Button type="submit" main disabled={edited === null || save.isPending}>
            Save
          </Button>
          {edited !== null && (
            <Button
              onClick={() => {
                setEdited(null)
                save.reset()
              }}
            >
              Reset
            </Button>
          )}
        </div>
        {edited === null && save.data !== undefined && (
          <p role="status" className="text-[13px] text-good">
            Saved. {save.data.notes?.join('; ')}
          </p>
        )}
      </form>
    </Panel>
  )
}

interface MutedProps {
  readonly muted: readonly string[]
  readonly onChange: (muted: readonly string[]) => void
}

function MutedFields({ muted, onChange }: MutedProps) {
  const { agents } = useCapabilities()
  // Also those that were muted and are not on this server any more.
  const all = [...new Set([...agents, ...muted])].sort()
  return (
    <fieldset>
      <legend className="mb-1 text-[13px] font-medium">Muted agents</legend>
      <div className="flex flex-wrap gap-x-5 gap-y-2">
        {all.map((name) => (
          <label key={name} className="flex min-h-6 items-center gap-2 text-[13px] wrap-anywhere">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={muted.includes(name)}
              onChange={({ target }) =>
                onChange(target.checked ? [...muted, name] : muted.filter((each) => each !== name))
              }
            />
            {name}
          </label>
        ))}
      </div>
      <p className="mt-1 text-[13px] text-muted">
        They answer, and say nothing of their own accord.
      </p>
    </fieldset>
  )
}
