/** Setting an alarm: when in words, what to say, and whom to wake. */
import { type FormEvent, useState } from 'react'
import { useAct } from '../forms/act.ts'
import { actFor, usePerson } from '../forms/choices.ts'
import { faultsOf } from '../forms/faults.ts'
import { AreaField, FormTrouble, ownZone, TextField } from '../forms/fields.tsx'
import { AgentField, PersonField } from '../forms/made-for.tsx'
import { PhraseField } from '../forms/phrase-field.tsx'
import { Button, Panel } from '../parts/parts.tsx'
import type { Alarm } from './shapes.ts'

const EXAMPLES = ['in 20 seconds', 'tomorrow at 9am', 'every weekday at 8:30', 'every 6 hours']
const FIELDS = [
  'schedule',
  'timezone',
  'wake_message',
  'label',
  'agent_id',
  'conversation_id',
] as const

export function NewAlarm({ onMade }: { onMade: (alarm: Alarm) => void }) {
  const [phrase, setPhrase] = useState('')
  const [zone, setZone] = useState(ownZone)
  const [message, setMessage] = useState('')
  const [label, setLabel] = useState('')
  const [agent, setAgent] = useState('')
  const [conversation, setConversation] = useState('')
  const [person, setPerson] = usePerson()
  const make = useAct<Alarm>('alarms', onMade)
  const faults = faultsOf(make.error, FIELDS)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    make.mutate({
      method: 'POST',
      path: 'v1/alarms',
      actAs: actFor(person),
      body: {
        schedule: phrase.trim(),
        timezone: zone.trim(),
        wake_message: message,
        label: label.trim(),
        conversation_id: conversation.trim(),
        ...(agent === '' ? {} : { agent_id: agent }),
      },
    })
  }
  return (
    <div className="mb-5">
      <Panel title="New alarm">
        <form onSubmit={submit} className="flex flex-col gap-4" noValidate>
          <PhraseField
            id="alarm-when"
            label="When"
            spelling="schedule"
            phrase={phrase}
            zone={zone}
            onPhrase={setPhrase}
            onZone={setZone}
            examples={EXAMPLES}
            fault={faults.of('schedule')}
            zoneFault={faults.of('timezone')}
          />
          <AreaField
            id="alarm-words"
            label="What to tell the agent"
            value={message}
            onChange={setMessage}
            fault={faults.of('wake_message')}
            placeholder="Remind me to stretch"
          />
          <details className="text-sm">
            <summary className="cursor-pointer text-muted">Name, agent and conversation</summary>
            <div className="mt-3 grid grid-cols-1 gap-4 sm:grid-cols-2">
              <TextField
                id="alarm-label"
                label="Name"
                value={label}
                onChange={setLabel}
                fault={faults.of('label')}
                hint="How it is called in lists."
              />
              <AgentField
                id="alarm-agent"
                label="Agent"
                none="the only one, or the wake URL"
                value={agent}
                onChange={setAgent}
                fault={faults.of('agent_id')}
              />
              <TextField
                id="alarm-conversation"
                label="Conversation"
                value={conversation}
                onChange={setConversation}
                fault={faults.of('conversation_id')}
                hint="The last part of a session key; empty: a fresh one each time."
              />
              <PersonField id="alarm-person" value={person} onChange={setPerson} />
            </div>
          </details>
          <FormTrouble error={make.error} faults={faults} />
          <Button main type="submit" className="self-start" disabled={make.isPending}>
            Set alarm
          </Button>
        </form>
      </Panel>
    </div>
  )
}
