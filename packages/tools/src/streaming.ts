/** Runs of frameworks that stream, and of models that cannot. */
import type { LiveText } from '../../../src/agents/agent.ts'

/** Where a model's text goes while it is written. The answer is the text of the last step, so a new step withdraws what the last one wrote. */
export interface Writing {
  step(): void
  text(delta: string): void
  /** The model has answered with something else, such as a tool call. */
  answered(): void
}

/**
 * Runs with streaming where somebody looks. A model or an endpoint that cannot stream answers nothing, or fails without the status
 * of an HTTP answer: then it is asked without streaming.
 */
export async function streaming<T>(
  live: LiveText | null,
  stream: (writing: Writing) => Promise<T | null>,
  plain: () => Promise<T>,
): Promise<T> {
  if (live === null) return plain()
  let isAnswered = false
  const answered = () => {
    isAnswered = true
  }
  const text = (delta: string) => {
    answered()
    live.write(delta)
  }
  try {
    const result = await stream({ step: () => live.retract(), text, answered })
    if (result !== null && isAnswered) return result
  } catch (error) {
    if (isAnswered || hasStatus(error)) throw error
  }
  return plain()
}

/** Aborted runs are not run again either. */
function hasStatus(error: unknown): boolean {
  const { lastError, statusCode, status, name } = (error ?? {}) as Record<string, unknown>
  if (lastError !== undefined && hasStatus(lastError)) return true
  return typeof (statusCode ?? status) === 'number' || name === 'AbortError'
}
