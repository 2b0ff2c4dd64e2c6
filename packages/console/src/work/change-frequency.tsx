/** From once to again and again, or the other way; or to other times. */
import { type FormEvent, useState } from 'react'
import { useAct } from '../forms/act.ts'
import { faultsOf } from '../forms/faults.ts'
import { FormTrouble } from '../forms/fields.tsx'
import { PhraseField } from '../forms/phrase-field.tsx'
import { Button, Panel } from '../parts/parts.tsx'
import type { Work } from './shapes.ts'

const EXAMPLES = ['daily at 9am', 'every 6 hours', 'once']

export function ChangeFrequency({ work, onDone }: { work: Work; onDone: () => void }) {
  const [phrase, setPhrase] = useState(work.frequency)
  const [zone, setZone] = useState(work.timezone)
  const change = useAct('work', onDone)
  const faults = faultsOf(change.error, ['frequency', 'timezone'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const body = { frequency: phrase.trim(), timezone: zone.trim() }
    change.mutate({ method: 'PATCH', path: `v1/work/${work.id}`, body })
  }
  return (
    <Panel title="Change frequency">
      <form onSubmit={submit} className="flex flex-col gap-3" noValidate>
        <PhraseField
          id="work-change"
          label="How often"
          spelling="frequency"
          phrase={phrase}
          zone={zone}
          onPhrase={setPhrase}
          onZone={setZone}
          examples={EXAMPLES}
          fault={faults.of('frequency')}
          zoneFault={faults.of('timezone')}
          stacked
        />
        <FormTrouble error={change.error} faults={faults} />
        <Button main type="submit" className="self-start" disabled={change.isPending}>
          Save
        </Button>
      </form>
    </Panel>
  )
}
