/** What is done to all chosen rows, one after the other, with how far it is. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { refresh } from '../api/changes.ts'
import { request } from '../api/http.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Icon } from '../parts/icon.tsx'
import { Button } from '../parts/parts.tsx'
import { ACTIONS, type Action, actionsOf, requestOf, type Schedule } from './schedule.ts'

const ORDER: readonly Action[] = ['pause', 'resume', 'run', 'delete']

interface Props {
  readonly rows: readonly Schedule[]
  readonly onDone: () => void
}

export function BulkBar({ rows, onDone }: Props) {
  const client = useQueryClient()
  const [progress, setProgress] = useState<number | null>(null)
  const [refused, setRefused] = useState<readonly string[]>([])
  const [asking, setAsking] = useState(false)
  const run = async (action: Action) => {
    const able = rows.filter((row) => actionsOf(row).includes(action))
    const failures: string[] = []
    for (const [index, row] of able.entries()) {
      setProgress(index / able.length)
      const { path, method } = requestOf(row, action)
      await request(path, { method }).catch((error: Error) => {
        failures.push(`${row.name}: ${error.message}`)
      })
    }
    setProgress(null)
    setRefused(failures)
    await refresh(client, ['schedules', 'overview', 'ledger'])
    if (failures.length === 0) onDone()
  }
  return (
    <section
      aria-label="Selected"
      className="sticky top-2 z-20 mb-2 flex flex-wrap items-center gap-2 rounded-lg border border-edge bg-panel px-3 py-2 text-[13px] shadow-lg"
    >
      <span role="status" className="mr-auto font-medium">
        {progress === null ? `${rows.length} selected` : `${Math.round(progress * 100)} %`}
      </span>
      {ORDER.map((action) => (
        <Button
          key={action}
          disabled={progress !== null || !rows.some((row) => actionsOf(row).includes(action))}
          onClick={() => (action === 'delete' ? setAsking(true) : void run(action))}
        >
          <Icon name={ACTIONS[action].icon} /> {ACTIONS[action].words}
        </Button>
      ))}
      <Button onClick={onDone}>Clear</Button>
      {refused.map((text) => (
        <p key={text} role="alert" className="basis-full text-bad">
          {text}
        </p>
      ))}
      {asking && (
        <Confirm
          title={`Delete ${rows.length === 1 ? 'this schedule' : `${rows.length} schedules`}?`}
          words="They fire no more. Work loses its outputs. The record of what they did is kept."
          action="Delete"
          onNo={() => setAsking(false)}
          onYes={() => {
            setAsking(false)
            void run('delete')
          }}
        />
      )}
    </section>
  )
}
