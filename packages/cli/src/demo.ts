/** The demo agent as the server runs it: with a chat model and Wakeful's own tools where one is set, in plain words else. */
import type { Agent } from '../../../src/agents/agent.ts'
import { operations } from '../../../src/app/operations.ts'
import type { AppConfig } from '../../../src/app/packs.ts'
import { wallClock } from '../../../src/clock.ts'
import { toolsOf } from '../../../src/mcp/tool.ts'
import { TOOLS } from '../../../src/mcp/tools.ts'
import { companion, createCompanion } from '../../companion/src/companion.ts'
import { turnTools } from '../../companion/src/think.ts'
import { HttpModel } from '../../model/src/model.ts'

/** For the tools of a turn. */
const INSTRUCTIONS =
  'Wakeful keeps promises in time. Use set_alarm for "remind me" and "wake me" at a time or again and again, promise to tell somebody so and set it at once, create_intent for standing wishes with a condition ("tell me when …"), create_work for tasks done once or on a rhythm whose results are kept, explain for "why did, or didn\'t, you write?", set_preferences and pause for quiet hours and "do not disturb". Always pass the user\'s IANA timezone (such as Europe/Berlin) where a tool takes one: without it times are in the zone known of the person, else in the server\'s own. Tell the user the time that the answer says, not the one you meant.'

/** Somebody waits for the answer: a model that is away is found out soon. */
const PATIENCE = { timeoutMs: 20_000, retryBaseMs: 200 } as const

export function demoCompanion({ model: settings }: Pick<AppConfig, 'model'>): Agent {
  if (settings.url === null || settings.name === null) return companion
  const model = new HttpModel(settings, { ...PATIENCE, now: () => new Date(wallClock()) })
  const known = toolsOf(operations)
  // A turn explains itself from its own session, whether or not there is an operation for it.
  const offered = TOOLS.map(({ name, description }) => ({
    name,
    description,
    inputSchema: known.get(name)?.inputSchema ?? {},
  }))
  return createCompanion({ model, tools: turnTools(offered), instructions: INSTRUCTIONS })
}
