/** Numbers and lists in the pages are those of the last benchmark and of the code. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { parseFrequency, parsePhrase, ScheduleError } from '../../packages/schedule/src/index.ts'
import { formatLocal } from '../../packages/schedule/src/instant.ts'
import { operations } from '../../src/app/operations.ts'
import { TOOLS } from '../../src/mcp/tools.ts'
import { ROOT } from './blocks.ts'

const page = (name: string) => readFileSync(join(ROOT, name), 'utf8')
const results = page('bench/results/latest.md')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split('|').map((cell) => cell.trim()))

/** The cells of one row of the benchmark. */
function row(measure: string, who: string, unit: string): string[] {
  const [found, ...more] = results.filter(
    ([, one = '', two = '', , four]) => one === measure && two.startsWith(who) && four === unit,
  )
  if (found === undefined || more.length > 0)
    throw new Error(`bench/results/latest.md has no single row "${measure}", "${who}", "${unit}"`)
  return found
}

const numberIn = (cell = '') => Number(cell.split(' ')[0]?.replaceAll(',', ''))
const figure = (...which: Parameters<typeof row>) => numberIn(row(...which)[3])
/** As pages say it: to a hundred. */
const count = (n: number) => (Math.round(n / 100) * 100).toLocaleString('en-US')
const ms = (n: number) => (n < 10 ? n.toFixed(1) : String(Math.round(n)))

const DURABLE = '/s, all durable'
const BURST = 'burst of 20,000'
const two = row(BURST, 'Wakeful, two messages', DURABLE)
const turns = count(numberIn(two[3]))
const late = (who: string, unit: 'p50' | 'p99') => ms(figure('light', who, `ms late, ${unit}`))
const looks = figure('conditions that do not hold', 'Wakeful', '/s')
const LOOKS = 67_000

describe('the benchmark', () => {
  it('is what docs/benchmark.md says', () => {
    const text = page('docs/benchmark.md')
    for (const [name, who] of [
      ['Wakeful, an agent that says nothing', 'Wakeful, silent agent'],
      ['Wakeful, an agent that says two things', 'Wakeful, two messages'],
      ['graphile-worker 0.17', 'graphile-worker'],
      ['pg-boss 12', 'pg-boss'],
    ] as const)
      expect(text).toContain(`| ${name} | ${count(figure(BURST, who, DURABLE))}/s |`)
    for (const who of ['Wakeful, handler', 'graphile-worker', 'pg-boss'])
      expect(text).toContain(`/s | ${late(who, 'p50')} / ${late(who, 'p99')} ms |`)
  })

  it('is what docs/operations/running.md says', () => {
    const door = (what: string) => count(figure('door', what, 'requests/s'))
    const alone = results.filter(([, , who]) => who === 'POST message')
    expect(alone).toHaveLength(1)
    const beside = row('beside 1,000,000 others', 'Wakeful, burst', DURABLE)
    const frame = 'Wakeful, frame at the client'
    const rows = [
      `| turns that say two messages | ${turns} a second while much is due (CPU for each: ${two[9]} µs in Node, ${two[10]} µs in PostgreSQL) |`,
      `| lateness under light load | ${late('Wakeful, handler', 'p50')} ms at the agent, ${late(frame, 'p50')} ms at the client's socket (p50); ${late('Wakeful, handler', 'p99')} and ${late(frame, 'p99')} ms (p99) |`,
      `| messages taken at the door | ${count(numberIn(alone[0]?.[3]))} a second; ${door('POST message, with turns')} with their turns in the same process |`,
      `| messages over 1,000 sockets, acknowledged | ${count(figure('sockets', 'Wakeful', 'messages/s, acknowledged'))} a second |`,
      `| beside a million other triggers | ${Math.round(numberIn(beside[5]) * 100)} % of the turns; ${ms(figure('beside 1,000,000 others', 'Wakeful, light', 'ms late, p99'))} ms late (p99) |`,
      `| conditions that are looked at and do not hold | ${count(looks)} a second |`,
      `| the embedded store | ${count(figure('embedded store', 'Wakeful', 'full turns/s'))} full turns a second; ${ms(figure('embedded store', 'Wakeful', 'ms late, p99'))} ms late (p99); ${figure('embedded store', 'Wakeful', 'MB after the burst')} MB after the burst |`,
    ]
    for (const each of rows) expect(page('docs/operations/running.md')).toContain(each)
  })

  it('is what docs/operations/scale.md reckons with', () => {
    const text = page('docs/operations/scale.md')
    expect(text).toContain(`| one server: ${turns} a second |`)
    expect(text).toContain(
      `${LOOKS.toLocaleString('en-US')} looks a second; one server does ${count(looks)} | the second: ${Math.ceil(LOOKS / looks)} shards`,
    )
  })
})

describe('the code', () => {
  it('has the tools that docs/mcp.md lists', () => {
    const [, list = ''] = /^The tools ([\s\S]+?) are made from/m.exec(page('docs/mcp.md')) ?? []
    const named = [...list.matchAll(/`([^`]+)`/g)].flatMap(([, names = '']) => names.split(' '))
    expect(named.sort()).toEqual(TOOLS.map(({ name }) => name).sort())
  })

  it('reads every phrase as docs/phrases.md says', () => {
    const now = { now: Date.parse('2026-11-16T10:20Z'), timezone: 'UTC' }
    const cells = (heading: string) => {
      const [, section = ''] = page('docs/phrases.md').split(`## ${heading}`)
      const lines = (section.split('\n## ', 1)[0] ?? '').split('\n')
      return lines.flatMap((line) => {
        const [, phrase, meaning = ''] = /^\| `([^`]+)` \| (.+) \|$/.exec(line) ?? []
        return phrase === undefined ? [] : [[phrase, meaning] as const]
      })
    }
    const read = {
      Once: (phrase: string) => {
        const { schedule } = parsePhrase(phrase, now)
        return schedule.kind === 'once' ? formatLocal(schedule.at ?? 0, 'UTC').slice(0, -4) : ''
      },
      'Again and again': (phrase: string) =>
        parseFrequency(phrase)
          .canonical.split(' | ')
          .map((cron) => `\`${cron}\``)
          .join(', '),
    }
    for (const [heading, meaningOf] of Object.entries(read)) {
      expect(cells(heading).length).toBeGreaterThan(15)
      for (const [phrase, meaning] of cells(heading))
        expect(meaningOf(phrase), phrase).toBe(meaning)
    }
    expect(cells('Refused').length).toBeGreaterThan(5)
    for (const [phrase] of cells('Refused'))
      expect(() => parsePhrase(phrase, now), phrase).toThrow(ScheduleError)
  })

  it('makes a client as small as docs/client.md says', async () => {
    const { outputFiles } = await build({
      ...{ entryPoints: [join(ROOT, 'packages/client/src/index.ts')], bundle: true, minify: true },
      ...{ format: 'esm', platform: 'browser', write: false },
    })
    const kilobytes = Math.round((outputFiles[0]?.contents.length ?? 0) / 1000)
    expect(page('docs/client.md')).toContain(`It is ${kilobytes} KB in a browser bundle`)
  })

  it('answers lists as the API reference says: pages, and plain arrays for intents', () => {
    const arrays = operations.filter(
      ({ output, path }) => path.startsWith('/v1/') && output instanceof z.ZodArray,
    )
    expect(
      arrays.map(({ path }) => path).filter((path) => !path.startsWith('/v1/intents')),
    ).toEqual([])
    const intents = operations.filter(
      ({ path, method }) => path === '/v1/intents' && method === 'GET',
    )
    expect(arrays).toEqual(expect.arrayContaining(intents))
  })
})
