/** The names that requests to this server may use, for forms that offer a choice. */
import { z } from 'zod'
import { operation } from './contract.ts'

export const getCapabilities = operation({
  name: 'get_capabilities',
  method: 'GET',
  path: '/v1/capabilities',
  tag: 'Schedules',
  summary: 'The agents, executors of work and channels that can be named here',
  owner: 'caller',
  roles: ['admin', 'service', 'agent', 'user'],
  output: z.object({
    agents: z.array(z.string()),
    agent_types: z.array(z.string()).describe('Of work.'),
    channels: z.array(z.string()).describe('By which people can be linked.'),
  }),
  async run(ctx) {
    const { kernel, actor } = ctx
    const agents = actor.agentId === null ? [...kernel.agents.names] : [actor.agentId]
    const channels = [...kernel.channels.keys()].sort()
    return { body: { agents: agents.sort(), agent_types: [...kernel.work.types].sort(), channels } }
  },
})

export const capabilities = [getCapabilities]
