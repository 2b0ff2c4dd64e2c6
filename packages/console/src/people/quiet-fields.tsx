/** The windows of quiet hours, each with its days. */
import { TextField } from '../forms/fields.tsx'
import { Button } from '../parts/parts.tsx'
import { type QuietWindow, WEEKDAYS, type Weekday } from './shapes.ts'
import { nameOf } from './words.ts'

const WINDOWS_MAX = 14

interface Props {
  readonly windows: readonly QuietWindow[]
  readonly onChange: (windows: readonly QuietWindow[]) => void
  readonly fault: string | undefined
}

export function QuietFields({ windows, onChange, fault }: Props) {
  const change = (index: number, to: QuietWindow | null) =>
    onChange(windows.flatMap((each, at) => (at !== index ? [each] : to === null ? [] : [to])))
  return (
    <div className="flex flex-col gap-3">
      {windows.map((each, index) => (
        <WindowFields
          // biome-ignore lint/suspicious/noArrayIndexKey: a window has no name but its place.
          key={index}
          number={index + 1}
          value={each}
          onChange={(to) => change(index, to)}
        />
      ))}
      {fault !== undefined && (
        <p role="alert" className="text-sm text-bad">
          Quiet hours: {fault}
        </p>
      )}
      {windows.length < WINDOWS_MAX && (
        <Button
          className="self-start"
          onClick={() => onChange([...windows, { from: '22:00', to: '07:00' }])}
        >
          Add quiet hours
        </Button>
      )}
    </div>
  )
}

interface WindowProps {
  readonly number: number
  readonly value: QuietWindow
  readonly onChange: (value: QuietWindow | null) => void
}

function WindowFields({ number, value, onChange }: WindowProps) {
  const { days = WEEKDAYS } = value
  const id = `quiet-${number}`
  const toggle = (day: Weekday) =>
    onChange({
      ...value,
      days: WEEKDAYS.filter((each) => (each === day) !== days.includes(each)),
    })
  return (
    <fieldset className="rounded-lg border border-line p-3">
      <legend className="sr-only">Quiet hours {number}</legend>
      <div className="grid grid-cols-[1fr_1fr_auto] items-end gap-3">
        <TextField
          id={`${id}-from`}
          label="From"
          value={value.from}
          onChange={(from) => onChange({ ...value, from })}
          maxLength={5}
        />
        <TextField
          id={`${id}-to`}
          label="To"
          value={value.to}
          onChange={(to) => onChange({ ...value, to })}
          maxLength={5}
        />
        <Button
          aria-label={`Remove quiet hours ${number}`}
          className="min-h-10.5"
          onClick={() => onChange(null)}
        >
          Remove
        </Button>
      </div>
      <div className="mt-3 grid max-w-sm grid-cols-7 gap-1">
        {WEEKDAYS.map((day) => (
          <button
            key={day}
            type="button"
            aria-pressed={days.includes(day)}
            onClick={() => toggle(day)}
            className="min-h-9 rounded-md border border-edge text-xs text-muted aria-pressed:border-accent aria-pressed:bg-accent aria-pressed:text-on-accent"
          >
            {nameOf(day)}
          </button>
        ))}
      </div>
    </fieldset>
  )
}
