/** The parts of the command line that need no server: tables, words, colours, progress, and the command table itself. */
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AwayError, errorLines, exitCode, UsageError } from '../../packages/cli/src/exit.ts'
import { followOutput, progressLine } from '../../packages/cli/src/progress.ts'
import { column, status, when, wide } from '../../packages/cli/src/row.ts'
import { RESOURCES } from '../../packages/cli/src/rows.ts'
import { coloursOn, fieldsText } from '../../packages/cli/src/screen.ts'
import { type Item, tableText } from '../../packages/cli/src/table.ts'
import { cells, cut, painter, plain } from '../../packages/cli/src/text.ts'
import { WakefulError } from '../../packages/client/src/index.ts'
import { operations } from '../../src/app/operations.ts'
import { ConfigError } from '../../src/config.ts'
import { loaded } from '../setup/loaded.ts'

const NOW = Date.parse('2026-11-16T12:00:00Z')
const bare = painter(false)

const COLUMNS = [column('id'), status(), when('next'), wide('text')]
const ROWS: Item[] = [
  { id: 'a', status: 'active', next: '2026-11-16T13:00:00.000Z', text: 'short' },
  { id: 'bcd', status: 'failed', text: `a long text ${'that goes on '.repeat(10)}` },
]

describe('a table', () => {
  it('aligns its columns and is as wide as it needs in a pipe', () => {
    const lines = tableText(COLUMNS, ROWS, { width: null, paint: bare, now: NOW }).split('\n')
    expect(lines[0]).toBe('ID   STATUS  NEXT    TEXT')
    expect(lines[1]).toBe('a    active  in 1 h  short')
    expect(lines[2]).toMatch(/^bcd {2}failed {10}a long text (that goes on ){9}that goes on$/)
  })

  it('fits the terminal by cutting what may be cut, whatever is in it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 25, max: 120 }),
        (texts, width) => {
          const items = texts.map((text) => ({ id: 'a', status: 'active', text }))
          const lines = tableText(COLUMNS, items, { width, paint: bare, now: NOW }).split('\n')
          expect(lines).toHaveLength(texts.length + 2)
          for (const line of lines) expect(cells(line)).toBeLessThanOrEqual(width)
        },
      ),
    )
  })

  it('is coloured where there are colours, without losing its alignment', () => {
    const coloured = tableText(COLUMNS, ROWS, { width: 60, paint: painter(true), now: NOW })
    expect(coloured).toContain('\u001B[32mactive\u001B[0m')
    expect(coloured).toContain('\u001B[31mfailed\u001B[0m')
    const stripped = stripVTControlCharacters(coloured)
    expect(stripped).toBe(tableText(COLUMNS, ROWS, { width: 60, paint: bare, now: NOW }))
  })
})

describe('texts of others', () => {
  it('cannot steer the terminal', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
        expect(plain(text)).not.toMatch(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u)
        expect(plain(text, 'lines').replace(/[\n\t]/g, '')).not.toMatch(/\p{Cc}/u)
      }),
    )
    expect(fieldsText({ note: 'a\u001B[2Jb', text: 'x\ny' }, bare, NOW)).toBe(
      'note  a\uFFFD[2Jb\ntext  x\n      y\n',
    )
  })

  it('are cut by the cells they take', () => {
    expect(cut('日本語テキスト', 7)).toBe('日本語…')
    expect(cells('日本語…')).toBe(7)
    expect(cut('plain', 5)).toBe('plain')
  })
})

it('has colours only on a terminal that has them, and never with NO_COLOR', () => {
  expect(coloursOn(true, {})).toBe(true)
  expect(coloursOn(true, { NO_COLOR: '' })).toBe(true)
  expect(coloursOn(true, { NO_COLOR: '1' })).toBe(false)
  expect(coloursOn(true, { TERM: 'dumb' })).toBe(false)
  expect(coloursOn(false, {})).toBe(false)
})

describe('the end', () => {
  it.each([
    [new UsageError('x'), 2],
    [new ConfigError('x'), 2],
    [new AwayError('x'), 5],
    [new Error('x'), 1],
    [new WakefulError(0, 'x', []), 5],
    [new WakefulError(503, 'x', []), 5],
    [new WakefulError(404, 'x', []), 3],
    [new WakefulError(409, 'x', []), 4],
    [new WakefulError(401, 'x', []), 4],
    [new WakefulError(422, 'x', []), 4],
    [new WakefulError(500, 'x', []), 1],
  ])('%s is %i', (error, code) => expect(exitCode(error)).toBe(code))

  it('tells every reason, and the request id of what went wrong on the other side', () => {
    expect(errorLines(new WakefulError(422, 'Wrong', ['a', 'b']))).toEqual(['Wrong', '  a', '  b'])
    expect(errorLines(new WakefulError(500, 'Broken', ['a'], { requestId: 'r' }))).toEqual([
      'Broken: a',
      '  request id r',
    ])
  })
})

describe('progress', () => {
  const outputs: Item[] = [
    { run_number: 2, status: 'pending', progress: null },
    { run_number: 2, status: 'running', progress: 0.5, progress_note: 'half\u001B[31m way' },
    { run_number: 2, status: 'completed', progress: 1 },
  ]
  const follow = async (list: readonly Item[], terminal: boolean) => {
    const rest = [...list]
    let shown = ''
    const write = (text: string) => {
      shown += text
    }
    const ended = await followOutput({
      read: async () => rest.shift() ?? { run_number: 2, status: 'running' },
      terminal: terminal ? { columns: 60, write } : null,
      secondsMax: 5,
      pause: async () => undefined,
    })
    return { ended, shown }
  }

  it('is a bar that goes when the run has ended', async () => {
    const { ended, shown } = await follow(outputs, true)
    expect(ended.status).toBe('completed')
    const lines = shown.split('\r\u001B[K').slice(1)
    expect(lines).toEqual([
      'run 2 pending',
      `[${'█'.repeat(12)}${'░'.repeat(12)}] 50 %  half\uFFFD[31m way`,
      '',
    ])
  })

  it('is silent where nobody looks, and does not wait for ever', async () => {
    expect((await follow(outputs, false)).shown).toBe('')
    await expect(follow([], false)).rejects.toThrow('has not ended within 5 s')
  })

  it('stays on its line', () => {
    const note = 'x'.repeat(300)
    for (const columns of [20, 40, 80])
      for (const progress of [null, 0, 0.3, 1, 7])
        expect(
          cells(
            progressLine(
              { run_number: 1, status: 'running', progress, progress_note: note },
              columns,
            ),
          ),
        ).toBeLessThan(columns)
  })
})

describe('the command table', () => {
  const known = new Map(operations.map((op) => [op.name, op]))
  const rows = RESOURCES.flatMap((resource) =>
    resource.rows.map((row) => [`${resource.name} ${row.verb}`, row] as const),
  )

  it.each(rows.filter(([, row]) => known.has(row.operation)))(
    '%s asks for fields that its operation has',
    (_, row) => {
      const op = known.get(row.operation)
      const fields = [op?.params, op?.query, op?.body].flatMap((part) =>
        Object.keys(part?.shape ?? {}),
      )
      const args = (row.args ?? []).map((arg) => arg.replace(/[<>[\]]/g, ''))
      const asked = [...args, ...(row.fields ?? []).map(({ name }) => name)]
      expect(fields).toEqual(expect.arrayContaining([...asked, ...Object.keys(row.fixed ?? {})]))
      for (const [, name = ''] of op?.path.matchAll(/\{(\w+)\}/g) ?? [])
        expect(args).toContain(name)
    },
  )

  it('reaches alarms and sessions', () => {
    const reached = rows.filter(([, row]) => known.has(row.operation)).map(([name]) => name)
    expect(reached).toEqual(
      expect.arrayContaining(['alarms list', 'alarms create', 'alarms cancel', 'sessions send']),
    )
  })
})

it('loads neither server nor database before it knows that they are needed', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const bin = `${root}packages/cli/src/bin.ts`
  const files = [...loaded(bin)].map((path) => path.replace(root, ''))
  expect(files).toContain('packages/cli/src/resource.ts')
  const heavy = files.filter((path) =>
    /^(zod|pg|ws|fastify|pino|undici|@.*)$|^src\/(store|api|http|kernel|app)/.test(path),
  )
  expect(heavy).toEqual([])
})
