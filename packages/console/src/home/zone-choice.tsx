/** The zone that all times are shown in. */
import { useShownZone } from '../parts/use-zone.ts'
import { ownZone, showZone } from '../parts/zone.ts'

const ZONES = Intl.supportedValuesOf('timeZone')

export function ZoneChoice() {
  const zone = useShownZone()
  const own = ownZone()
  const others = ZONES.filter((name) => name !== own && name !== 'UTC')
  return (
    <select
      aria-label="Times in"
      value={zone}
      onChange={(event) => showZone(event.target.value)}
      className="h-8 max-w-52 rounded-md border border-line bg-panel px-2 text-[13px] hover:border-edge"
    >
      <option value={own}>{own} (yours)</option>
      {own !== 'UTC' && <option value="UTC">UTC</option>}
      {others.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  )
}
