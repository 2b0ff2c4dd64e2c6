/** Having something done: what, by which executor, and how often. */
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useAct } from '../forms/act.ts'
import { actFor, useCapabilities, usePerson } from '../forms/choices.ts'
import { faultsOf } from '../forms/faults.ts'
import { AreaField, FormTrouble, ownZone, SelectField, TextField } from '../forms/fields.tsx'
import { PersonField } from '../forms/made-for.tsx'
import { PhraseField } from '../forms/phrase-field.tsx'
import { Button, Panel } from '../parts/parts.tsx'
import type { Work } from './shapes.ts'

const EXAMPLES = ['once', 'daily at 9am', 'every Monday at 10am', 'every 15 minutes']
const FIELDS = ['task', 'agent_type', 'frequency', 'timezone', 'project_id', 'parameters'] as const

/** Undefined for nothing; text that is no JSON stays text, which the server refuses with its reason. */
function jsonIn(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export function NewWork() {
  const [, go] = useLocation()
  const { agent_types: types } = useCapabilities()
  const [task, setTask] = useState('')
  const [chosen, setChosen] = useState('')
  const [phrase, setPhrase] = useState('once')
  const [zone, setZone] = useState(ownZone)
  const [project, setProject] = useState('')
  const [parameters, setParameters] = useState('')
  const [runFirst, setRunFirst] = useState(true)
  const [person, setPerson] = usePerson()
  const type = chosen === '' ? (types[0] ?? '') : chosen
  const make = useAct<{ work: Work }>('work', ({ work }) => go(`/work/${work.id}`))
  const faults = faultsOf(make.error, FIELDS)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const user = actFor(person)
    make.mutate({
      method: 'POST',
      path: 'v1/work',
      body: {
        task,
        agent_type: type,
        frequency: phrase.trim(),
        timezone: zone.trim(),
        run_first: runFirst,
        parameters: jsonIn(parameters),
        ...(project.trim() === '' ? {} : { project_id: project.trim() }),
        ...(user === undefined ? {} : { user_id: user }),
      },
    })
  }
  return (
    <div className="mb-5">
      <Panel title="New work">
        <form onSubmit={submit} className="flex flex-col gap-4" noValidate>
          <AreaField
            id="work-task"
            label="What to do"
            value={task}
            onChange={setTask}
            fault={faults.of('task')}
            placeholder="Summarise this week’s news about tea"
          />
          <SelectField
            id="work-type"
            label="Executor"
            value={type}
            choices={types.map((name) => [name, name] as const)}
            onChange={setChosen}
            fault={faults.of('agent_type')}
            hint={types.length === 0 ? 'None is registered on this server.' : undefined}
          />
          <PhraseField
            id="work-often"
            label="How often"
            spelling="frequency"
            phrase={phrase}
            zone={zone}
            onPhrase={setPhrase}
            onZone={setZone}
            examples={EXAMPLES}
            fault={faults.of('frequency')}
            zoneFault={faults.of('timezone')}
          />
          <label className="flex items-center gap-2 text-sm">
            <input
              type="checkbox"
              checked={runFirst}
              onChange={(event) => setRunFirst(event.target.checked)}
              className="size-4 accent-accent"
            />
            Also run it now
          </label>
          <details className="text-sm">
            <summary className="cursor-pointer text-muted">Person, project and parameters</summary>
            <div className="mt-3 grid grid-cols-1 gap-4 sm:grid-cols-2">
              <PersonField id="work-person" value={person} onChange={setPerson} />
              <TextField
                id="work-project"
                label="Project"
                value={project}
                onChange={setProject}
                fault={faults.of('project_id')}
              />
              <AreaField
                id="work-parameters"
                label="Parameters"
                value={parameters}
                onChange={setParameters}
                fault={faults.of('parameters')}
                hint='A JSON object for the executor. {"notify_session": "user:agent:thread"} tells a session of each result.'
                className="font-mono"
              />
            </div>
          </details>
          <FormTrouble error={make.error} faults={faults} />
          <Button main type="submit" className="self-start" disabled={make.isPending}>
            Start work
          </Button>
        </form>
      </Panel>
    </div>
  )
}
