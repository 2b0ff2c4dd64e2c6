import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { cronFailures, frequencyFailures } from './cases.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('cases.script.ts', import.meta.url))

/** The offset each zone shows on 1 January 2026, to prove that the child really ran there. */
const ZONES = [
  ['UTC', 0],
  ['Australia/Sydney', -660],
  ['America/Sao_Paulo', 180],
  ['Asia/Kathmandu', -345],
] as const

describe('the cases of schedules', () => {
  it('cron.json holds', () => {
    const { count, failures } = cronFailures()
    expect(failures).toEqual([])
    expect(count).toBe(138)
  })

  it('frequency.json holds', () => {
    const { count, failures } = frequencyFailures()
    expect(failures).toEqual([])
    expect(count).toBe(55)
  })

  it.each(ZONES)('both hold in a process whose zone is %s', async (zone, offset) => {
    const { stdout } = await run(process.execPath, ['--import', 'tsx', script], {
      env: { ...process.env, TZ: zone },
    })
    expect(JSON.parse(stdout)).toEqual({ offset, counts: [138, 55], failures: [] })
  })
})
