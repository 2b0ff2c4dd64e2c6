/** In place of what is on its way. */

const WIDTHS = ['w-3/5', 'w-4/5', 'w-2/5', 'w-1/2']

export function Skeleton({ rows = 3 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-3 py-2">
      {Array.from({ length: rows }, (_, index) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
          key={index}
          className={`block h-4 rounded bg-sunk motion-safe:animate-pulse ${WIDTHS[index % WIDTHS.length]}`}
        />
      ))}
    </div>
  )
}
