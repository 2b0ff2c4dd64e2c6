/** Icons, one for each kind, status and action: 16 px, drawn with lines. Beside them there are always words. */
import { type IconName, PATHS } from './icon-paths.ts'

export function Icon({ name, className = '' }: { name: IconName; className?: string }) {
  return (
    <svg
      aria-hidden="true"
      viewBox="0 0 16 16"
      className={`inline-block size-4 shrink-0 fill-none stroke-current stroke-[1.5] ${className}`}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
