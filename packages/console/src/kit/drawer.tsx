/** A panel at the side, over the page: what is behind it stays where it is. Escape closes it. */
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { Icon } from '../parts/icon.tsx'

interface Props {
  readonly title: ReactNode
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Open while it is mounted. */
export function Drawer({ title, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    dialog.current?.showModal()
    // A form begins at its first field, not at the button that closes it.
    dialog.current?.querySelector<HTMLElement>('form :is(input, select)')?.focus()
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        // A question asked within it has an Escape of its own.
        if (event.target !== event.currentTarget) return
        event.preventDefault()
        onClose()
      }}
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) onClose()
      }}
      className="m-0 ml-auto h-dvh max-h-none w-[min(34rem,100vw)] max-w-none bg-panel text-ink shadow-2xl backdrop:bg-black/40"
    >
      <div className="flex min-h-full flex-col">
        <header className="sticky top-0 z-20 flex items-start justify-between gap-3 border-b border-line bg-panel px-5 py-3">
          <h2 id={id} className="min-w-0 pt-1 font-semibold wrap-anywhere">
            {title}
          </h2>
          <button
            type="button"
            onClick={onClose}
            aria-label="Close"
            className="rounded-md p-2 text-muted hover:bg-sunk hover:text-ink"
          >
            <Icon name="cross" />
          </button>
        </header>
        <div className="flex flex-1 flex-col gap-5 px-5 py-4">{children}</div>
      </div>
    </dialog>
  )
}
