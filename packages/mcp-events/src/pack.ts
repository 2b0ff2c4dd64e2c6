/** Events of other MCP servers as signals for intents (`trigger_type: "event"`). The protocol is a draft and may change. */
import type { Pack } from '../../../src/app/pack.ts'
import type { Reader } from '../../../src/core/variables.ts'
import { type McpEventsSettings, readMcpEvents } from './settings.ts'

export const mcpEventsPack = {
  name: 'mcp-events',
  readSettings: (read: Reader): McpEventsSettings => readMcpEvents(read),
  async open({ mcpEvents: { wanted, publicUrl }, allowPrivateWebhooks }, app) {
    if (wanted.length === 0) return {}
    const [{ McpServers }, { keyOf, mcpSource, routeOf }, { mcpReceiver }] = await Promise.all([
      import('./server.ts'),
      import('./source.ts'),
      import('./receive.ts'),
    ])
    const servers = new McpServers(allowPrivateWebhooks)
    const named = wanted.map((each) => ({ key: keyOf(each), wanted: each }))
    return {
      sources: wanted.map((each) => mcpSource(each, { servers, app, publicUrl })),
      receive: mcpReceiver({ app, sources: new Map(named.map((one) => [routeOf(one.key), one])) }),
      close: () => servers.close(),
    }
  },
} as const satisfies Pack<McpEventsSettings>
