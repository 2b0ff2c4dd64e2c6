/** The fields that fit what is waited for. */
import type { Faults } from '../forms/faults.ts'
import { SelectField, TextField } from '../forms/fields.tsx'
import { type Kind, OPERATORS, type Waits } from './draft.ts'

interface Props {
  readonly kind: Exclude<Kind, 'time'>
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
        id="intent-hours"
        label="Hours without a message from this person"
        value={waits.hours}
        onChange={(hours) => onChange({ hours })}
        fault={faults.of('threshold_hours')}
        inputMode="decimal"
      />
    )
  if (kind === 'calendar')
    return (
      <TextField
        id="intent-minutes"
        label="Minutes before an entry starts"
        value={waits.minutes}
        onChange={(minutes) => onChange({ minutes })}
        fault={faults.of('value')}
        inputMode="decimal"
      />
    )
  return (
    <TextField
      id="intent-keywords"
      label="Any of these words"
      value={waits.keywords}
      onChange={(keywords) => onChange({ keywords })}
      fault={faults.of('keywords')}
      placeholder={kind === 'news' ? 'rate cut, central bank' : 'deploy failed, outage'}
      hint="Divided by commas; whole words, in any case. Each headline or event fires once."
    />
  )
}

function PriceFields({ waits, onChange, faults }: Props) {
  return (
    <div className="grid grid-cols-1 gap-4 sm:grid-cols-3">
      <TextField
        id="intent-ticker"
        label="Ticker"
        value={waits.ticker}
        onChange={(ticker) => onChange({ ticker })}
        fault={faults.of('ticker')}
        placeholder="NVDA"
        maxLength={32}
      />
      <SelectField
        id="intent-operator"
        label="Compared"
        value={waits.operator}
        choices={OPERATORS}
        onChange={(operator) => onChange({ operator })}
        fault={faults.of('operator')}
      />
      <TextField
        id="intent-value"
        label="Price"
        value={waits.value}
        onChange={(value) => onChange({ value })}
        fault={faults.of('value')}
        inputMode="decimal"
        placeholder="130"
      />
    </div>
  )
}
