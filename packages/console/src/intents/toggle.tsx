/** On or off. */
interface Props {
  readonly label: string
  readonly on: boolean
  readonly busy: boolean
  readonly onChange: (on: boolean) => void
}

export function Toggle({ label, on, busy, onChange }: Props) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={on}
      aria-label={label}
      disabled={busy}
      onClick={() => onChange(!on)}
      className="group inline-flex h-6 w-11 shrink-0 items-center rounded-full border border-edge bg-sunk p-0.5 aria-checked:border-accent aria-checked:bg-accent"
    >
      <span
        aria-hidden="true"
        className="size-4.5 rounded-full bg-edge transition-transform group-aria-checked:translate-x-5 group-aria-checked:bg-on-accent"
      />
    </button>
  )
}
