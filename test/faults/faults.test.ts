/** The short version of `npm run faults`: real processes, a real PostgreSQL, and witnesses who are asked afterwards. */
import { describe, expect, inject, it } from 'vitest'
import { groundOn } from './ground.ts'
import type { Row } from './row.ts'
import { table } from './table.ts'

const rows = table({ kills: 3, restarts: 3, full: false })
const short = rows.filter((row): row is Row => 'short' in row && row.short === true)
const SILENT = () => undefined

describe('nothing is lost, doubled or left half-way', () => {
  it.each(short)('$fault ($inject): $holds', { timeout: 240_000 }, (row) =>
    row.run(groundOn(inject('postgres'), SILENT)),
  )

  it('all 48 are in the table, each once', () => {
    const ids = rows.map(({ id }) => id).sort((a, b) => a - b)
    expect(ids).toEqual(Array.from({ length: 48 }, (_, n) => n + 1))
  })
})
