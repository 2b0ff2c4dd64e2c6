/** The options of a question as buttons. An answer given for somebody else is asked about first. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAct } from '../forms/act.ts'
import { seesAll, useMe } from '../frame/me.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Button } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { lookAgain } from '../session/kept.ts'

export interface Asked {
  readonly id: string
  readonly options: readonly string[]
}

export interface Question extends Asked {
  readonly session_key: string
  readonly user_id: string
  readonly text: string
  readonly default_answer: string | null
  readonly until_at: string | null
}

interface Props {
  readonly question: Asked
  readonly person: string
  readonly sessionKey: string
}

export function Options({ question, person, sessionKey }: Props) {
  const client = useQueryClient()
  const forOthers = seesAll(useMe())
  const [asking, setAsking] = useState<string | null>(null)
  const act = useAct(['questions', 'inbox', 'ledger'], () => void lookAgain(client, sessionKey))
  const { id, options } = question
  const send = (answer: string) => {
    setAsking(null)
    act.mutate({ method: 'POST', path: `v1/questions/${id}/answer`, body: { answer } })
  }
  return (
    <div className="flex flex-col gap-2">
      <fieldset className="flex flex-wrap gap-2">
        <legend className="sr-only">Answer</legend>
        {options.map((answer) => (
          <Button
            key={answer}
            disabled={act.isPending || act.isSuccess}
            onClick={() => (forOthers ? setAsking(answer) : send(answer))}
          >
            {answer}
          </Button>
        ))}
      </fieldset>
      {act.error !== null && <Trouble error={act.error} />}
      {asking !== null && (
        <Confirm
          plain
          title={`Answer “${asking}” for ${person}?`}
          words="The agent takes it as their own word. Only one answer counts."
          action={`Answer “${asking}”`}
          onNo={() => setAsking(null)}
          onYes={() => send(asking)}
        />
      )}
    </div>
  )
}
