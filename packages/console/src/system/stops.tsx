/** The emergency stop, what is stopped, and what waits because of it. */
import { type FormEvent, useState } from 'react'
import { useRead } from '../api/query.ts'
import { useAct } from '../forms/act.ts'
import { faultsOf } from '../forms/faults.ts'
import { FormTrouble, SelectField, TextField } from '../forms/fields.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Badge, Button, Panel } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'
import { nameOfStop, type Stop } from '../stops/stops.ts'

const TOPICS = ['stops', 'inbox', 'sessions', 'agents', 'overview'] as const
const RED = 'self-start border-bad! bg-bad! text-panel!'
const LEVELS = [
  ['everything', 'Everything'],
  ['agent', 'An agent'],
  ['user', 'A person'],
  ['trigger', 'One trigger, by its id'],
] as const

interface Held {
  readonly session_key: string
  readonly kind: string
  readonly waiting: number
  readonly since: string
}

export function StopsPanel() {
  const { data, error } = useRead<{ data: readonly Stop[] }>('v1/stops', ['stops'])
  const stops = data?.data ?? []
  return (
    <Panel
      title="Stops"
      aside={
        data !== undefined && (
          <Badge tone={stops.length === 0 ? 'good' : 'bad'}>
            {stops.length === 0 ? 'nothing is stopped' : `${stops.length} stopped`}
          </Badge>
        )
      }
    >
      {error !== null && <Trouble spaced error={error} />}
      {stops.length > 0 && (
        <ul aria-label="Stopped" className="mb-4 divide-y divide-line">
          {stops.map((stop) => (
            <Standing key={stop.id} stop={stop} />
          ))}
        </ul>
      )}
      <StopForm />
    </Panel>
  )
}

function Standing({ stop }: { stop: Stop }) {
  const act = useAct(TOPICS)
  const [dropping, setDropping] = useState(false)
  const { data } = useRead<{ held: readonly Held[] }>(`v1/stops/${stop.id}`, TOPICS)
  const held = data?.held ?? []
  const end = (how: 'resume' | 'drop') =>
    act.mutate({ method: 'POST', path: `v1/stops/${stop.id}/${how}`, body: {} })
  return (
    <li className="py-3 text-[13px]">
      <p>
        <span className="font-medium first-letter:uppercase">{nameOfStop(stop)}</span>{' '}
        <span className="text-muted">
          since <When at={stop.created_at} as="both" />
          {stop.reason !== '' && `: ${stop.reason}`}
        </span>
      </p>
      <p className="mt-1 text-muted">
        {held.length === 0 ? 'Nothing waits because of it.' : `${held.length} held:`}
      </p>
      <ul aria-label={`Held: ${nameOfStop(stop)}`} className="text-muted wrap-anywhere">
        {held.slice(0, 5).map(({ session_key, kind, waiting, since }) => (
          <li key={`${session_key} ${since}`}>
            {session_key}: {kind.replaceAll('_', ' ')}
            {waiting > 1 && `, and ${waiting - 1} behind it`}
          </li>
        ))}
      </ul>
      <div className="mt-2 flex gap-2">
        <Button disabled={act.isPending} onClick={() => end('resume')}>
          Resume
        </Button>
        <Button disabled={act.isPending} onClick={() => setDropping(true)} className="text-bad!">
          Drop what was held
        </Button>
      </div>
      <FormTrouble error={act.error} faults={faultsOf(act.error, [])} />
      {dropping && (
        <Confirm
          title="Drop what was held?"
          words={`Fires of ${nameOfStop(stop)} that wait end without a run. What people said is answered.`}
          action="Drop"
          onNo={() => setDropping(false)}
          onYes={() => {
            setDropping(false)
            end('drop')
          }}
        />
      )}
    </li>
  )
}

function StopForm() {
  const [level, setLevel] = useState<(typeof LEVELS)[number][0]>('everything')
  const [target, setTarget] = useState('')
  const [reason, setReason] = useState('')
  const [asking, setAsking] = useState(false)
  const act = useAct<Stop>(TOPICS, () => setReason(''))
  const faults = faultsOf(act.error, ['target'])
  const named = level !== 'everything'
  const what = { level, target: named ? target.trim() : null }
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    setAsking(true)
  }
  const stop = () => {
    setAsking(false)
    const body = { level, reason: reason.trim(), ...(named ? { target: target.trim() } : {}) }
    act.mutate({ method: 'POST', path: 'v1/stops', body })
  }
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-3" noValidate>
      <SelectField
        id="stop-level"
        label="What"
        value={level}
        onChange={setLevel}
        choices={LEVELS}
      />
      {named && (
        <TextField
          id="stop-target"
          label="Which"
          value={target}
          onChange={setTarget}
          maxLength={128}
          fault={faults.of('target')}
        />
      )}
      <TextField id="stop-reason" label="Why" value={reason} onChange={setReason} maxLength={500} />
      <FormTrouble error={act.error} faults={faults} />
      <Button
        type="submit"
        disabled={act.isPending || (named && target.trim() === '')}
        className={RED}
      >
        Stop
      </Button>
      {asking && (
        <Confirm
          title={`Stop ${nameOfStop(what)}?`}
          words="Within a second nothing of it runs, in any process. What runs now is aborted; everything waits until it is resumed."
          action="Stop"
          onNo={() => setAsking(false)}
          onYes={stop}
        />
      )}
    </form>
  )
}
