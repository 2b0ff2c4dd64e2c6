/** Who serves an intent that names no agent: the only one, as for alarms. `POST /v1/intents` alone leaves it to outside workers. */
import { Refusal } from '../../core/errors.ts'

type Arguments = Readonly<Record<string, unknown>>

/** `agents` are those that the caller may name. An `agent_id` of null still means outside workers. */
export async function withDefaultAgent(
  operation: string,
  args: Arguments,
  agents: () => readonly string[] | Promise<readonly string[]>,
): Promise<Arguments> {
  if (operation !== 'create_intent' || args.agent_id !== undefined) return args
  const names = await agents()
  const [only, other] = names
  if (other !== undefined)
    throw new Refusal(
      'rule',
      `agent_id: say who is woken; known are ${names.slice(0, 20).join(', ')}`,
    )
  return only === undefined ? args : { ...args, agent_id: only }
}
