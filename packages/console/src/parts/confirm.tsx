/** Asks once more before something is destroyed. */
import { useEffect, useRef } from 'react'
import { Button } from './parts.tsx'

interface Props {
  readonly title: string
  /** What will be gone. */
  readonly words: string
  /** What the button says: the action, not "OK". */
  readonly action: string
  readonly busy?: boolean
  /** Nothing is destroyed by it. */
  readonly plain?: boolean
  readonly onYes: () => void
  readonly onNo: () => void
}

/** Shown while it is mounted. Escape means no. */
export function Confirm(props: Props) {
  const { title, words, action, busy = false, plain = false, onYes, onNo } = props
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby="confirm-title"
      aria-describedby="confirm-words"
      onCancel={(event) => {
        event.preventDefault()
        onNo()
      }}
      className="m-auto w-[min(26rem,calc(100vw-2rem))] rounded-xl border border-line bg-panel p-5 text-ink backdrop:bg-black/50"
    >
      <h2 id="confirm-title" className="font-semibold">
        {title}
      </h2>
      <p id="confirm-words" className="mt-1 text-sm text-muted wrap-anywhere">
        {words}
      </p>
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onNo}>{plain ? 'Cancel' : 'Keep it'}</Button>
        <Button
          main={plain}
          onClick={onYes}
          disabled={busy}
          className={plain ? '' : 'border-bad! bg-bad! text-panel!'}
        >
          {action}
        </Button>
      </div>
    </dialog>
  )
}
