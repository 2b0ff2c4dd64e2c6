/**
 * The function agent: `agent(async (turn) => { … })`. The turn gathers wishes; what `turn.state` is at
 * the end is the checkpoint. Whatever the function leaves behind after its end is refused, so that a
 * forgotten `await` cannot speak in somebody else's turn.
 */
import { type Agent, type AgentOptions, limitsOf, stateResult, type TurnResult } from './agent.ts'
import * as reads from './reads.ts'
import { Turn } from './turn.ts'

export { type PastEvent, type PersonOfTurn, Turn } from './turn.ts'

export type AgentFunction<State extends object = Record<string, unknown>> = (
  turn: Turn<State>,
) => unknown

export interface FunctionAgentOptions<State extends object = Record<string, unknown>>
  extends AgentOptions {
  /** Called when a turn over a person's message has failed for good. What it replies is said instead of the failure text. */
  readonly onFailure?: (turn: Turn<State>, error: unknown) => unknown
}

/** `State` types `turn.state`. */
export function agent<State extends object = Record<string, unknown>>(
  run: AgentFunction<State>,
  options: FunctionAgentOptions<State> = {},
): Agent {
  if (typeof run !== 'function') throw new TypeError('agent: takes a function of a turn')
  const { onFailure } = options
  return {
    kind: 'function',
    async onFailure(input, error) {
      if (onFailure === undefined) return []
      const turn = new Turn<State>(input)
      await onFailure(turn, error)
      await Turn.settle(turn)
      const { wishes } = Turn.finish(turn)
      return wishes.flatMap((wish) => (wish.type === 'send_message' ? [wish.content] : []))
    },
    ...limitsOf(options),
    runsInForecasts: options.runsInForecasts ?? false,
    async run(input): Promise<TurnResult> {
      const turn = new Turn<State>(input)
      try {
        await run(turn)
        await Turn.settle(turn)
      } catch (error) {
        Turn.abandon(turn)
        throw error
      }
      const { wishes, state, spent } = Turn.finish(turn)
      wishes.push(...reads.digestDefault(input.event, wishes))
      return stateResult(input, wishes, state, spent)
    },
  }
}
