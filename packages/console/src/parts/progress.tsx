/** How far something is, in words and as a bar. */

/** Browsers draw each part of a bar by a name of their own. */
const BAR =
  'block h-2 w-full appearance-none overflow-hidden rounded-full border-0 bg-sunk [&::-moz-progress-bar]:bg-own-mark [&::-webkit-progress-bar]:bg-sunk [&::-webkit-progress-value]:bg-own-mark'

export function ProgressBar(props: { label: string; words: string; share: number | null }) {
  const { label, words, share } = props
  return (
    <>
      <p className="mb-1 flex justify-between gap-3 text-[13px] text-muted">
        <span className="wrap-anywhere">{words}</span>
        {share !== null && <span>{Math.round(share * 100)} %</span>}
      </p>
      <progress
        aria-label={label}
        className={BAR}
        max={1}
        {...(share === null ? {} : { value: share })}
      />
    </>
  )
}
