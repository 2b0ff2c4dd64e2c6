/** The demo agent as the server runs it: with a chat model and Wakeful's own tools where one is set, in plain words else. */
import type { Agent } from '../../../src/agents/agent.ts'
import { operations } from '../../../src/app/operations.ts'
import type { AppConfig } from '../../../src/app/packs.ts'
import { wallClock } from '../../../src/clock.ts'
import { toolsOf } from '../../../src/mcp/tool.ts'
import { INSTRUCTIONS, TOOLS } from '../../../src/mcp/tools.ts'
import { companion, createCompanion } from '../../companion/src/companion.ts'
import { turnTools } from '../../companion/src/think.ts'
import { HttpModel } from '../../model/src/model.ts'

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
