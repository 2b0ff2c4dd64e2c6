/** A real MCP client on whatever transport a test brings, closed when the test ends. */
import { Client, type Transport } from '@modelcontextprotocol/client'
import { afterEachTest } from '../setup/ends.ts'

const open = new Set<Client>()
afterEachTest(async () => {
  await Promise.all([...open].map((client) => client.close()))
  open.clear()
})

export interface Called {
  readonly isError: boolean
  /** The words. */
  readonly said: string
  /** The JSON as text, where there is some. */
  readonly json: string | undefined
  readonly data: Record<string, unknown>
  readonly problem: { status: number; title: string; errors: string[] } | undefined
}

/** `auto` finds the newest revision that both know; without it the client opens with the older handshake. */
export async function connect(transport: Transport, mode: 'legacy' | 'auto' = 'legacy') {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  open.add(client)
  await client.connect(transport)
  return {
    client,
    async call(name: string, args: Record<string, unknown> = {}): Promise<Called> {
      const result = await client.callTool({ name, arguments: args })
      const content = result.content as { type: string; text?: string }[]
      return {
        isError: result.isError === true,
        said: content[0]?.text ?? '',
        json: content[1]?.text,
        data: (result.structuredContent ?? {}) as Record<string, unknown>,
        problem: result._meta?.['wakeful/problem'] as Called['problem'],
      }
    },
  }
}
