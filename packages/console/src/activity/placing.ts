/** Where steps stand between the first and the last instant. Pure. */
import type { Step } from './chain.ts'

const BAR_MIN = 0.012

/** Where a step stands between the first and the last instant, as shares of the whole. Pure. */
export function placed(steps: readonly Step[]) {
  const instants = steps.flatMap(({ when, until }) =>
    [when, until].flatMap((at) => (at === undefined ? [] : [Date.parse(at)])),
  )
  const from = Math.min(...instants)
  const span = Math.max(...instants) - from
  let last = 0
  return steps.map((step) => {
    const at = step.when === undefined ? last : share(Date.parse(step.when), from, span)
    const to = step.until === undefined ? at : share(Date.parse(step.until), from, span)
    last = to
    return { step, at: Math.min(at, 1 - BAR_MIN), size: Math.max(BAR_MIN, to - at) }
  })
}

function share(at: number, from: number, span: number): number {
  return span <= 0 ? 0 : (at - from) / span
}
