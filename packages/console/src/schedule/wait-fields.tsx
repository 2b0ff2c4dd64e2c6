/** The fields that fit what is waited for. */
import type { Faults } from '../forms/faults.ts'
import { SelectField, TextField } from '../forms/fields.tsx'
import type { WaitKind, Waits } from './draft.ts'

interface Props {
  readonly kind: Exclude<WaitKind, 'time'>
  readonly waits: Waits
  readonly onChange: (part: Partial<Waits>) => void
  readonly faults: Faults
}

export function WaitFields(props: Props) {
  const { kind, waits, onChange, faults } = props
  if (kind === 'price') return <PriceFields {...props} />
  if (kind === 'silence')
    return (
      <TextField
        id="new-hours"
        label="Hours without a message from this person"
        value={waits.hours}
        onChange={(hours) => onChange({ hours })}
        fault={faults.of('silent_for')}
        inputMode="decimal"
      />
    )
  if (kind === 'calendar')
    return (
      <TextField
        id="new-minutes"
        label="Minutes before an entry starts"
        value={waits.minutes}
        onChange={(minutes) => onChange({ minutes })}
        fault={faults.of('before')}
        inputMode="decimal"
      />
    )
  return (
    <TextField
      id="new-keywords"
      label="Any of these words"
      value={waits.keywords}
      onChange={(keywords) => onChange({ keywords })}
      fault={faults.of(kind)}
      placeholder={kind === 'news' ? 'rate cut, central bank' : 'deploy failed, outage'}
      hint="Separated by commas; whole words, in any case. Each headline or event fires once."
    />
  )
}

const SIDES = [
  ['below', 'falls below'],
  ['above', 'rises above'],
] as const

function PriceFields({ waits, onChange, faults }: Props) {
  return (
    <div className="grid grid-cols-1 gap-4 sm:grid-cols-3">
      <TextField
        id="new-ticker"
        label="Ticker"
        value={waits.ticker}
        onChange={(ticker) => onChange({ ticker })}
        fault={faults.of('price')}
        placeholder="NVDA"
        maxLength={32}
      />
      <SelectField
        id="new-side"
        label="Compared"
        value={waits.side}
        choices={SIDES}
        onChange={(side) => onChange({ side })}
      />
      <TextField
        id="new-value"
        label="Price"
        value={waits.value}
        onChange={(value) => onChange({ value })}
        fault={faults.of(waits.side)}
        inputMode="decimal"
        placeholder="130"
      />
    </div>
  )
}
