/** Signals on several shards: one about a person goes to their shard, one for everybody to each. */
import type { NewSignal } from '../features/intents/signal.ts'
import type { SignalTaken } from '../features/intents/signal-trigger.ts'
import type { Kernel } from '../kernel.ts'
import type { Db } from '../store/db.ts'
import type { PerShard } from '../store/shards/ranges.ts'

/** The other shards come first: if `tx` does not commit, the caller repeats the signal, and a repeated signal has no effect. */
export async function takeOnShards(
  kernels: PerShard<Kernel>,
  signals: readonly NewSignal[],
  tx: Db | null,
  own: Kernel,
): Promise<SignalTaken[]> {
  const takeOn = async (kernel: Kernel) => {
    const concerned = signals.filter(
      ({ userId }) => userId === null || kernels.ofUser(userId) === kernel,
    )
    // The audit entry of a signal for everybody is written once, on the caller's shard.
    const audited = concerned.map((signal) =>
      kernel === own || signal.userId !== null ? signal : { ...signal, audit: null },
    )
    const taken =
      audited.length === 0
        ? []
        : await kernel.writes.takeSignals(audited, kernel === own ? tx : null)
    return new Map(concerned.map((signal, index) => [signal, taken[index] as SignalTaken]))
  }
  const others = await Promise.allSettled(
    kernels.all.filter((kernel) => kernel !== own).map(takeOn),
  )
  const parts = others.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
  parts.push(await takeOn(own))
  return signals.map((signal) => joined(parts.flatMap((part) => part.get(signal) ?? [])))
}

/** A signal is new if it was new on any shard. */
function joined(taken: readonly SignalTaken[]): SignalTaken {
  const last = taken.at(-1)
  if (last === undefined) throw new Error('the signal was not taken')
  const rows = taken.flatMap((each) => each.rows)
  return { id: last.id, stored: taken.some((each) => each.stored), promoted: rows.length, rows }
}
