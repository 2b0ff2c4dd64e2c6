/**
 * What a piece of work costs the processor, in ms. Unlike the time it takes, that is the same on a busy machine; a bound on
 * it is for what grows without end, so it may be far above what is usual.
 */
export function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
