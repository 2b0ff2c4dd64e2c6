/**
 * Checks promises: if a message announces something and the turn schedules nothing for it, the agent runs once more with a remark. If the
 * promise is still not backed, the message is sent and marked. The judging model decides nothing else; if it is slow or
 * unavailable, the message is sent.
 */
import type { Agent, Spent, TurnInput, TurnResult } from '../../../src/agents/agent.ts'
import { setsTrigger, type TurnAction } from '../../../src/features/sessions/turn.ts'
import type { ChatModel } from '../../model/src/model.ts'

/** Time limit for judging one answer, including retries. */
const JUDGE_MS = 5_000
const SHOWN_MAX = 4_000

const ASKED = `You read what an assistant is about to send to a person, and answer with one word.
yes: it commits the assistant to act later by itself, at a time or when something happens: to remind, check back, follow up, watch, report or send.
no: anything else, such as an answer, a question, an offer that waits for the person's word, or something that the person will do.`

export const REMARK =
  'Your answer says that you will do something later, but this turn sets nothing for it, so it would never happen. Set it in this turn, or say it without the promise.'

export interface Backing {
  readonly model: Pick<ChatModel, 'ask'>
  /** Called when an answer could not be judged. */
  readonly trouble: (error: unknown) => void
  readonly judgeMs?: number
}

export function backed(agent: Agent, backing: Backing): Agent {
  return {
    kind: agent.kind,
    // The agent runs twice, with the judge after each run.
    timeoutMs: 2 * (agent.timeoutMs + JUDGE_MS),
    concurrency: agent.concurrency,
    perMinute: agent.perMinute,
    whileRunning: agent.whileRunning,
    failureText: agent.failureText,
    onFailure: agent.onFailure,
    // It calls a model, so it does not run in forecasts.
    runsInForecasts: false,
    async run(input) {
      const first = await agent.run(input)
      if (!(await isUnbacked(first, input, backing))) return first
      const second = await again(agent, input, backing)
      if (second === null) return marked(first)
      const result = { ...second, ...together(first.spent, second.spent) }
      return (await isUnbacked(second, input, backing)) ? marked(result) : result
    },
  }
}

/** Null if it failed: then the first answer is sent. */
async function again(
  agent: Agent,
  input: TurnInput,
  { trouble }: Backing,
): Promise<TurnResult | null> {
  try {
    return await agent.run(withRemark(input))
  } catch (error) {
    input.signal.throwIfAborted()
    trouble(error)
    return null
  }
}

/** Not a copy, so that lazy properties stay lazy. */
function withRemark(input: TurnInput): TurnInput {
  return Object.assign(Object.create(input) as TurnInput, { remark: REMARK })
}

async function isUnbacked(
  { wishes }: TurnResult,
  input: TurnInput,
  { model, trouble, judgeMs = JUDGE_MS }: Backing,
): Promise<boolean> {
  const said = wishes.flatMap((wish) => (wish.type === 'send_message' ? wish.content : []))
  if (said.length === 0 || wishes.some(setsTrigger)) return false
  const late = AbortSignal.timeout(judgeMs)
  const content = said.join('\n\n').slice(0, SHOWN_MAX)
  try {
    const { text } = await model.ask(
      [
        { role: 'system', content: ASKED },
        { role: 'user', content },
      ],
      { signal: AbortSignal.any([input.signal, late]) },
    )
    return /^\W*yes\b/i.test(text)
  } catch (error) {
    input.signal.throwIfAborted()
    trouble(error)
    return false
  }
}

function marked(result: TurnResult): TurnResult {
  const mark = (wish: TurnAction): TurnAction =>
    wish.type === 'send_message' ? { ...wish, unbacked: true } : wish
  return { ...result, wishes: result.wishes.map(mark) }
}

function together(first?: Spent, second?: Spent): Pick<TurnResult, 'spent'> {
  if (first === undefined || second === undefined) {
    const one = first ?? second
    return one === undefined ? {} : { spent: one }
  }
  const calls = (first.calls ?? 1) + (second.calls ?? 1)
  return { spent: { tokens: first.tokens + second.tokens, usd: first.usd + second.usd, calls } }
}
