/** What the next days would bring, or would if one more thing were added: asked for, drawn, and gone through by hand. */
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { request } from '../api/http.ts'
import { useCapabilities, usePeople, usePerson } from '../forms/choices.ts'
import { SelectField, TextField } from '../forms/fields.tsx'
import { seesAll, useMe } from '../frame/me.ts'
import { Button, Empty, Heading, Panel } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { Played } from './played.tsx'
import type { Forecast } from './shapes.ts'

const DAYS = ['1', '3', '7', '14', '31'] as const

interface Asked {
  readonly user: string | undefined
  readonly days: number
  readonly schedule: string
  readonly message: string
  readonly agent: string
}

function bodyOf({ days, schedule, message, agent }: Asked) {
  const alarm = {
    schedule,
    wake_message: message || schedule,
    ...(agent === '' ? {} : { agent_id: agent }),
  }
  return { days, ...(schedule === '' ? {} : { draft: { alarms: [alarm] } }) }
}

export function ForecastPage() {
  const forecast = useMutation({
    mutationFn: (asked: Asked) =>
      request<Forecast>(`v1/people/${encodeURIComponent(asked.user ?? 'me')}/forecast`, {
        method: 'POST',
        body: bodyOf(asked),
      }),
  })
  return (
    <>
      <Heading title="Forecast">
        What would the next days bring? A copy is played on a clock of its own, with all gates and
        preferences. Nothing is stored, nobody is called, no message leaves.
      </Heading>
      <div className="flex flex-col gap-5">
        <Ask busy={forecast.isPending} onAsk={forecast.mutate} />
        {forecast.error !== null && <Trouble error={forecast.error} />}
        <div aria-live="polite">
          {forecast.isPending && <p className="text-muted">Forecasting …</p>}
        </div>
        {forecast.data !== undefined && !forecast.isPending && (
          <Told key={forecast.data.from} forecast={forecast.data} />
        )}
        {forecast.isIdle && (
          <Empty title="Nothing forecast yet">
            What would be said, what would wait for its moment, what would come together and what
            would be dropped is drawn here, each with its reason.
          </Empty>
        )}
      </div>
    </>
  )
}

/** Empty lanes would leave open whether it is the wrong name. */
function Told({ forecast }: { forecast: Forecast }) {
  const { occurrences, notes, user_id: user } = forecast
  if (occurrences.length > 0 || notes.length > 0) return <Played forecast={forecast} />
  return (
    <Empty title="Nothing would come due">
      In these days no follow-up, alarm, intent or work of {user} has its time.
    </Empty>
  )
}

function Ask({ busy, onAsk }: { busy: boolean; onAsk: (asked: Asked) => void }) {
  const all = seesAll(useMe())
  const [kept, keep] = usePerson()
  const people = usePeople()
  const { agents } = useCapabilities()
  const [user, setUser] = useState(kept)
  const [days, setDays] = useState<(typeof DAYS)[number]>('14')
  const [schedule, setSchedule] = useState('')
  const [message, setMessage] = useState('')
  const [agent, setAgent] = useState('')
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (all) keep(user.trim())
    onAsk({
      user: all ? user.trim() : undefined,
      days: Number(days),
      schedule: schedule.trim(),
      message: message.trim(),
      agent: agent || (agents.length > 1 ? (agents[0] ?? '') : ''),
    })
  }
  return (
    <Panel title="What to forecast">
      <form onSubmit={onSubmit} className="grid grid-cols-1 items-start gap-3 sm:grid-cols-2">
        {all && (
          <TextField
            id="forecast"
            label="Person"
            value={user}
            onChange={setUser}
            list="forecast-names"
            maxLength={128}
          />
        )}
        <datalist id="forecast-names">
          {people.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <SelectField
          id="days"
          label="Days"
          value={days}
          onChange={setDays}
          choices={DAYS.map((each) => [each, each] as const)}
        />
        <TextField
          id="what-if"
          label="What if this alarm were added?"
          value={schedule}
          onChange={setSchedule}
          placeholder="every weekday at 8:30"
          hint="Plain words or cron; left empty, nothing is added."
        />
        <TextField id="saying" label="Which says" value={message} onChange={setMessage} />
        {agents.length > 1 && (
          <SelectField
            id="whose"
            label="Its agent"
            value={agent || (agents[0] ?? '')}
            onChange={setAgent}
            choices={agents.map((each) => [each, each] as const)}
          />
        )}
        <div className="flex items-end sm:col-span-2">
          <Button main type="submit" disabled={busy}>
            Forecast
          </Button>
        </div>
      </form>
    </Panel>
  )
}
