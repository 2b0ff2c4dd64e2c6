/** Something new, from any page: for whom and by which agent first, then when, then what. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { address } from '../api/address.ts'
import { refresh } from '../api/changes.ts'
import { request } from '../api/http.ts'
import type { Page, Preview } from '../api/shapes.ts'
import { LOCAL_PERSON, useCapabilities } from '../forms/choices.ts'
import { type Faults, faultsOf } from '../forms/faults.ts'
import { AreaField, FormTrouble, SelectField, TextField } from '../forms/fields.tsx'
import { PhraseField } from '../forms/phrase-field.tsx'
import { navigate, useFilters } from '../frame/address.ts'
import { seesAll, useMe } from '../frame/me.ts'
import { Drawer } from '../kit/drawer.tsx'
import { Tabs } from '../kit/filters.tsx'
import { PeopleList } from '../kit/people-list.tsx'
import { Button } from '../parts/parts.tsx'
import { ownZone } from '../parts/zone.ts'
import {
  EXAMPLES,
  NO_WAITS,
  nameFor,
  TIME_FIELDS,
  timeOf,
  WAIT_KINDS,
  type WaitKind,
  type Waits,
  whenOf,
} from './draft.ts'
import { pageOf, type Schedule } from './schedule.ts'
import { WaitFields } from './wait-fields.tsx'

const WHEN_FIELDS = ['price', 'below', 'above', 'silent_for', 'news', 'event', 'before']
const FIELDS = [
  ...['user_id', 'agent_id', 'name', 'note', 'timezone', 'run', 'with', 'times'],
  ...WHEN_FIELDS,
  ...TIME_FIELDS,
]

interface Draft {
  readonly person: string
  readonly agent: string
  readonly kind: WaitKind
  readonly waits: Waits
  readonly phrase: string
  readonly zone: string
  readonly note: string
  readonly name: string
  readonly run: string
}

async function make(draft: Draft, mayName: boolean): Promise<Schedule> {
  const { person, agent, kind, waits, phrase, zone, note, name, run } = draft
  const whose = mayName ? { user_id: person.trim() } : {}
  const time = kind === 'time' ? await timed(phrase, zone) : { when: whenOf(kind, waits) }
  const title = name.trim() || (await freeName(note.trim() || phrase, draft, mayName))
  return request<Schedule>(`v1/schedules/${encodeURIComponent(title)}`, {
    method: 'PUT',
    body: {
      ...time,
      ...whose,
      ...(agent === '' ? {} : { agent_id: agent }),
      ...(run === '' ? {} : { run }),
      note,
      timezone: zone.trim(),
    },
  })
}

/** The phrase is read by the server: what was previewed is what is set. */
async function timed(phrase: string, zone: string): Promise<object> {
  const body = { schedule: phrase.trim(), timezone: zone.trim() }
  const preview = await request<Preview>('v1/schedules/preview', { method: 'POST', body })
  return timeOf(preview, phrase)
}

/** A name that is taken would replace what has it. */
async function freeName(words: string, draft: Draft, mayName: boolean): Promise<string> {
  const user = mayName ? draft.person.trim() : ''
  const path = address('v1/schedules', { user_id: user, q: nameFor(words, []), limit: 200 })
  const { data } = await request<Page<Schedule>>(path)
  return nameFor(
    words,
    data.map(({ name }) => name),
  )
}

export function NewSchedule() {
  const client = useQueryClient()
  const filters = useFilters()
  const { agents, agent_types: executors } = useCapabilities()
  const mayName = seesAll(useMe())
  const [draft, setDraft] = useState<Draft>(() => ({
    person: filters.get('for') || filters.get('user_id') || LOCAL_PERSON,
    agent: filters.get('by') || filters.get('agent_id'),
    ...{ kind: 'time', waits: NO_WAITS, phrase: '', zone: ownZone(), note: '', name: '', run: '' },
  }))
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const agent = draft.agent || (agents[0] ?? '')
  const set = useMutation({
    mutationFn: () => make({ ...draft, agent }, mayName),
    onSuccess: async ({ kind, id }) => {
      await refresh(client, ['schedules', 'overview', 'people'])
      navigate(pageOf(kind, id))
    },
  })
  const faults = faultsOf(set.error, FIELDS)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    set.mutate()
  }
  return (
    <Drawer title="New schedule" onClose={() => filters.set({ new: '', for: '', by: '' })}>
      <form onSubmit={submit} className="flex flex-col gap-4" noValidate>
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          {mayName && (
            <>
              <TextField
                id="new-person"
                label="For"
                value={draft.person}
                onChange={(person) => change({ person })}
                list="new-people"
                maxLength={128}
                fault={faults.of('user_id')}
              />
              <PeopleList id="new-people" />
            </>
          )}
          <SelectField
            id="new-agent"
            label="Agent"
            value={agent}
            choices={agents.map((name) => [name, name] as const)}
            onChange={(name) => change({ agent: name })}
            fault={faults.of('agent_id')}
          />
        </div>
        <div>
          <p className="mb-1 text-[13px] font-medium" aria-hidden="true">
            Wait for
          </p>
          <Tabs
            label="Wait for"
            choices={WAIT_KINDS}
            value={draft.kind}
            onChange={(kind) => change({ kind })}
          />
        </div>
        <Trigger draft={draft} change={change} faults={faults} />
        <AreaField
          id="new-note"
          label="Instructions for the agent"
          value={draft.note}
          onChange={(note) => change({ note })}
          fault={faults.of('note')}
          placeholder="Remind me to stretch"
        />
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <TextField
            id="new-name"
            label="Name"
            value={draft.name}
            onChange={(name) => change({ name })}
            fault={faults.of('name')}
            placeholder="Taken from the words above"
            maxLength={100}
          />
          {executors.length > 0 && (
            <SelectField
              id="new-run"
              label="Action"
              value={draft.run}
              choices={[
                ['', 'wake the agent'],
                ...executors.map((name) => [name, `run ${name}`] as const),
              ]}
              onChange={(run) => change({ run })}
              fault={faults.of('run')}
            />
          )}
        </div>
        <FormTrouble error={set.error} faults={faults} />
        <Button main type="submit" className="self-start" disabled={set.isPending}>
          Create schedule
        </Button>
      </form>
    </Drawer>
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
      id="new-when"
      label="When"
      spelling="schedule"
      phrase={draft.phrase}
      zone={draft.zone}
      onPhrase={(phrase) => change({ phrase })}
      onZone={(zone) => change({ zone })}
      examples={EXAMPLES}
      fault={TIME_FIELDS.map((field) => faults.of(field)).find(Boolean)}
      zoneFault={faults.of('timezone')}
      stacked
    />
  )
}
