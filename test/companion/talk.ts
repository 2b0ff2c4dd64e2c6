/** A conversation with the companion over the API: what is said, and what comes back. */
import type { Stage } from '../setup/listening-app.ts'

export const KEY = 'ann:companion:t'

export function talk(stage: () => Pick<Stage, 'call' | 'query' | 'settle'>) {
  /** All that it has said, in order. */
  async function replies(): Promise<string[]> {
    const rows = await stage().query<{ payload: string }>(
      `select payload from wakeful.effects where session_key = $1 and type = 'send_message' order by position`,
      [KEY],
    )
    return rows.map(({ payload }) => (JSON.parse(payload) as { content: string }).content)
  }

  /** Says something and answers with what comes back. */
  async function say(text: string): Promise<string> {
    const before = (await replies()).length
    await stage().call('POST', `/v1/sessions/${KEY}/messages`, { text })
    await stage().settle()
    return (await replies()).slice(before).join('\n---\n')
  }

  return { say, replies }
}
