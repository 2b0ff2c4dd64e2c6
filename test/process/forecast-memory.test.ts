/** The server's own memory while it forecasts: the embedded database of forecasts runs in another process. */
import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { until } from '../setup/until.ts'
import { folder, Server } from './server.ts'

const ALARMS = 300
/** Measured: 32 MB. With the database in a thread of the server: 380 MB (docs/design/forecasts.md). */
const GROWTH_MAX_KB = 150 * 1024
const TIMEOUT_MS = 300_000

/** Process id, parent and resident kilobytes of every process. */
function processes(): { pid: number; parent: number; kb: number }[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,rss='], { encoding: 'utf8' })
  return lines
    .trim()
    .split('\n')
    .map((line) => {
      const [pid = 0, parent = 0, kb = 0] = line.trim().split(/\s+/).map(Number)
      return { pid, parent, kb }
    })
}
const residentKb = (pid: number) => processes().find((each) => each.pid === pid)?.kb ?? 0
const childrenOf = (pid: number) => processes().filter(({ parent }) => parent === pid)

it(
  'rule 49: a forecast of 300 alarms barely grows the server, and its process ends with the server',
  async () => {
    const server = await Server.start({ DATABASE_URL: `pglite:${folder()}/data` })
    const post = async (path: string, body: object) => {
      const answer = await fetch(server.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'wakeful-act-as': 'ann' },
        body: JSON.stringify(body),
      })
      expect(answer.ok, await answer.clone().text()).toBe(true)
      return (await answer.json()) as { occurrences: unknown[] }
    }
    for (let n = 0; n < ALARMS; n++)
      await post('/v1/alarms', {
        ...{ kind: 'cron', cron_expr: `${n % 60} ${n % 24} * * *`, label: `alarm ${n}` },
        wake_message: 'tea',
      })
    const before = residentKb(server.pid)
    let [peak, ended] = [before, false]
    const forecast = post('/v1/people/ann/forecast', { days: 14 }).finally(() => {
      ended = true
    })
    await until('the forecast has ended', () => {
      peak = Math.max(peak, residentKb(server.pid))
      return ended
    })
    // On a busy machine a forecast ends early, and says so.
    expect((await forecast).occurrences.length).toBeGreaterThan(100)
    expect(peak - before).toBeLessThan(GROWTH_MAX_KB)
    const [child] = childrenOf(server.pid)
    if (child === undefined) throw new Error('the forecast ran in no process of its own')
    await server.end('SIGKILL')
    await until('the process of the forecast is gone', () =>
      processes().every(({ pid }) => pid !== child.pid),
    )
  },
  TIMEOUT_MS,
)
