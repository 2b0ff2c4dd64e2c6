/** Making a standing intent: what to wait for, and what to do then. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { request } from '../api/http.ts'
import type { Preview } from '../api/shapes.ts'
import { useCapabilities } from '../forms/choices.ts'
import { type Faults, faultsOf } from '../forms/faults.ts'
import { AreaField, FormTrouble, ownZone, TextField } from '../forms/fields.tsx'
import { AgentField } from '../forms/made-for.tsx'
import { PhraseField } from '../forms/phrase-field.tsx'
import { Choice } from '../lists/filters.tsx'
import { Button, Panel } from '../parts/parts.tsx'
import { conditionOf, KINDS, type Kind, NO_WAITS, scheduleOf, type Waits } from './draft.ts'
import type { Intent } from './shapes.ts'
import { WaitFields } from './wait-fields.tsx'

const NAME_FROM_WORDS = 60
const EXAMPLES = ['every weekday at 8:30', 'every 45 minutes', 'tomorrow at 9am']
const TIME_FIELDS = ['schedule', 'cron', 'interval_minutes', 'datetime', 'trigger_schedule']
const FIELDS = [
  ...['intent_name', 'action_context', 'agent_id', 'timezone', 'max_executions'],
  ...['ticker', 'operator', 'value', 'threshold_hours', 'keywords'],
  ...TIME_FIELDS,
]

interface Draft {
  readonly kind: Kind
  readonly waits: Waits
  readonly phrase: string
  readonly zone: string
  readonly name: string
  readonly context: string
  readonly agent: string
  readonly times: string
}

const EMPTY: Omit<Draft, 'zone'> = {
  ...{ kind: 'price', waits: NO_WAITS, phrase: '', name: '', context: '', times: '' },
  agent: '',
}

/** The phrase is read by the server: what was previewed is what is set. */
async function triggerOf({ kind, waits, phrase, zone }: Draft): Promise<object> {
  if (kind !== 'time') return { trigger_type: kind, trigger_condition: conditionOf(kind, waits) }
  const body = { schedule: phrase.trim(), timezone: zone.trim() }
  return scheduleOf(await request<Preview>('v1/schedules/preview', { method: 'POST', body }))
}

async function make(draft: Draft, agent: string, person: string): Promise<Intent> {
  const body = {
    user_id: person,
    intent_name: draft.name.trim() || draft.context.trim().slice(0, NAME_FROM_WORDS) || 'Intent',
    action_context: draft.context,
    timezone: draft.zone.trim(),
    agent_id: agent === '' ? null : agent,
    ...(draft.times.trim() === '' ? {} : { max_executions: Number(draft.times) }),
    ...(await triggerOf(draft)),
  }
  return request<Intent>('v1/intents', { method: 'POST', body })
}

export function NewIntent({ person, onMade }: { person: string; onMade: () => void }) {
  const client = useQueryClient()
  const { agents } = useCapabilities()
  const [draft, setDraft] = useState<Draft>(() => ({ ...EMPTY, zone: ownZone() }))
  const [touched, setTouched] = useState(false)
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const agent = touched ? draft.agent : (agents[0] ?? '')
  const set = useMutation({
    mutationFn: () => make(draft, agent, person),
    onSuccess: onMade,
    onSettled: () => client.invalidateQueries({ queryKey: ['intents'] }),
  })
  const faults = faultsOf(set.error, FIELDS)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    set.mutate()
  }
  return (
    <div className="mb-5">
      <Panel title={`New intent for ${person}`}>
        <form onSubmit={submit} className="flex flex-col gap-4" noValidate>
          <div>
            <p className="mb-1 text-sm font-medium" aria-hidden="true">
              Wait for
            </p>
            <Choice
              label="Wait for"
              choices={KINDS}
              value={draft.kind}
              onChange={(kind) => change({ kind })}
            />
          </div>
          <Trigger draft={draft} change={change} faults={faults} />
          <AreaField
            id="intent-context"
            label="What the agent is to do then"
            value={draft.context}
            onChange={(context) => change({ context })}
            fault={faults.of('action_context')}
            placeholder="Tell me, with the price and how far it fell today"
          />
          <div className="grid grid-cols-1 gap-4 sm:grid-cols-3">
            <TextField
              id="intent-name"
              label="Name"
              value={draft.name}
              onChange={(name) => change({ name })}
              fault={faults.of('intent_name')}
              placeholder="Taken from the words above"
              maxLength={256}
            />
            <AgentField
              id="intent-agent"
              label="Agent"
              none="none: a worker outside asks for it"
              value={agent}
              onChange={(name) => {
                setTouched(true)
                change({ agent: name })
              }}
              fault={faults.of('agent_id')}
            />
            <TextField
              id="intent-times"
              label="At most so many times"
              value={draft.times}
              onChange={(times) => change({ times })}
              fault={faults.of('max_executions')}
              inputMode="numeric"
              placeholder="no limit"
            />
          </div>
          <FormTrouble error={set.error} faults={faults} />
          <Button main type="submit" className="self-start" disabled={set.isPending}>
            Make intent
          </Button>
        </form>
      </Panel>
    </div>
  )
}

interface TriggerProps {
  readonly draft: Draft
  readonly change: (part: Partial<Draft>) => void
  readonly faults: Faults
}

function Trigger({ draft, change, faults }: TriggerProps) {
  if (draft.kind !== 'time')
    return (
      <WaitFields
        kind={draft.kind}
        waits={draft.waits}
        onChange={(part) => change({ waits: { ...draft.waits, ...part } })}
        faults={faults}
      />
    )
  return (
    <PhraseField
      id="intent-when"
      label="When"
      spelling="schedule"
      phrase={draft.phrase}
      zone={draft.zone}
      onPhrase={(phrase) => change({ phrase })}
      onZone={(zone) => change({ zone })}
      examples={EXAMPLES}
      fault={TIME_FIELDS.map((field) => faults.of(field)).find((text) => text !== undefined)}
      zoneFault={faults.of('timezone')}
    />
  )
}
