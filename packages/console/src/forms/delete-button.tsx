/** A button that destroys something, and asks first. */
import { useState } from 'react'
import { Confirm } from '../parts/confirm.tsx'
import { Button } from '../parts/parts.tsx'

interface Props {
  /** What it is, as in "Delete this intent?" */
  readonly what: string
  /** What goes with it, and what stays. */
  readonly words: string
  readonly disabled?: boolean
  readonly onYes: () => void
}

export function DeleteButton({ what, words, disabled = false, onYes }: Props) {
  const [asking, setAsking] = useState(false)
  return (
    <>
      <Button disabled={disabled} onClick={() => setAsking(true)} className="text-bad!">
        Delete
      </Button>
      {asking && (
        <Confirm
          title={`Delete this ${what}?`}
          words={words}
          action={`Delete ${what}`}
          onNo={() => setAsking(false)}
          onYes={() => {
            setAsking(false)
            onYes()
          }}
        />
      )}
    </>
  )
}
