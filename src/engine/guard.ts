/**
 * Runs somebody else's code so that it harms nobody: bounded in time, aborted when its lease is lost,
 * and unable to end the process by `process.exit`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { TerminalError } from '../core/errors.ts'

const inside = new AsyncLocalStorage<true>()
let guarded = false

/** From now on `process.exit` throws when an agent calls it, and works as ever when anybody else does. */
export function guardExit(): void {
  if (guarded) return
  guarded = true
  const exit = process.exit.bind(process)
  process.exit = ((code?: number) => {
    if (inside.getStore()) throw new TerminalError(`the agent called process.exit(${code ?? ''})`)
    exit(code)
  }) as typeof process.exit
}

export class AgentTimeoutError extends Error {
  override readonly name = 'AgentTimeoutError'
}

export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/** Resolves or rejects with `work`, or rejects when `controller` aborts; a hung promise is left behind. */
export async function runBounded<T>(
  controller: AbortController,
  timeoutMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(
    () => controller.abort(new AgentTimeoutError(`the agent took longer than ${timeoutMs} ms`)),
    timeoutMs,
  )
  const aborted = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error), {
      once: true,
    })
  })
  try {
    return await Promise.race([inside.run(true, work), aborted])
  } finally {
    clearTimeout(timer)
    // The loser of the race must not become an unhandled rejection.
    aborted.catch(() => undefined)
  }
}
