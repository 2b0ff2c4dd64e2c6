/** Another time, or other words, for a schedule that is set. */
import { type FormEvent, useState } from 'react'
import { request } from '../api/http.ts'
import type { Preview } from '../api/shapes.ts'
import { useAct } from '../forms/act.ts'
import { faultsOf } from '../forms/faults.ts'
import { AreaField, FormTrouble } from '../forms/fields.tsx'
import { PhraseField } from '../forms/phrase-field.tsx'
import { Button } from '../parts/parts.tsx'
import { EXAMPLES, TIME_FIELDS, timeOf } from './draft.ts'
import { pathOf, type Schedule } from './schedule.ts'

export function EditSchedule({ schedule, onDone }: { schedule: Schedule; onDone: () => void }) {
  const [phrase, setPhrase] = useState('')
  const [zone, setZone] = useState(schedule.timezone)
  const [note, setNote] = useState(schedule.note)
  const [unread, setUnread] = useState<Error | null>(null)
  const act = useAct(['schedules', 'overview', 'ledger'], onDone)
  const error = unread ?? act.error
  const faults = faultsOf(error, [...TIME_FIELDS, 'timezone', 'note'])
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setUnread(null)
    try {
      const time = phrase.trim() === '' ? {} : await timed(phrase, zone)
      const words = note === schedule.note ? {} : { note }
      act.mutate({ method: 'PATCH', path: pathOf(schedule), body: { ...time, ...words } })
    } catch (problem) {
      setUnread(problem as Error)
    }
  }
  return (
    <form
      aria-label="Change"
      onSubmit={submit}
      className="flex flex-col gap-4 rounded-lg bg-sunk/60 p-4"
      noValidate
    >
      <PhraseField
        id="edit-when"
        label="New time"
        spelling="schedule"
        phrase={phrase}
        zone={zone}
        onPhrase={setPhrase}
        onZone={setZone}
        examples={EXAMPLES}
        fault={TIME_FIELDS.map((field) => faults.of(field)).find(Boolean)}
        zoneFault={faults.of('timezone')}
        stacked
      />
      <AreaField
        id="edit-note"
        label="Instructions for the agent"
        value={note}
        onChange={setNote}
        fault={faults.of('note')}
      />
      <FormTrouble error={error} faults={faults} />
      <Button main type="submit" className="self-start" disabled={act.isPending}>
        Save
      </Button>
    </form>
  )
}

async function timed(phrase: string, zone: string): Promise<object> {
  const body = { schedule: phrase.trim(), timezone: zone.trim() }
  const preview = await request<Preview>('v1/schedules/preview', { method: 'POST', body })
  return { ...timeOf(preview, phrase), timezone: zone.trim() }
}
