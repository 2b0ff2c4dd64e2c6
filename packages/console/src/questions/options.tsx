/** The options of a question as buttons; the first answer counts, and a second one is told so. */
import { useQueryClient } from '@tanstack/react-query'
import { useAct } from '../forms/act.ts'
import { Button } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { lookAgain } from '../session/kept.ts'

/** What the keys of its queries begin with. */
export const QUESTIONS = 'questions'

export interface Asked {
  readonly id: string
  readonly options: readonly string[]
}

export function Options({ question, sessionKey }: { question: Asked; sessionKey: string }) {
  const client = useQueryClient()
  const act = useAct(QUESTIONS, () => void lookAgain(client, sessionKey))
  const { id, options } = question
  return (
    <div className="flex flex-col gap-2">
      <fieldset className="flex flex-wrap gap-2">
        <legend className="sr-only">Answer</legend>
        {options.map((answer) => (
          <Button
            key={answer}
            disabled={act.isPending || act.isSuccess}
            onClick={() =>
              act.mutate({ method: 'POST', path: `v1/questions/${id}/answer`, body: { answer } })
            }
          >
            {answer}
          </Button>
        ))}
      </fieldset>
      {act.error !== null && <Trouble error={act.error} />}
    </div>
  )
}
