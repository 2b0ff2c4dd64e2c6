/** Invariant: a notice quotes what a document says, never how it is arranged. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { excerptOf } from '../../src/agents/messages.ts'

test('headings, rules, fences and the line under a table head are left out', () => {
  const content =
    '# Week 46\n\n## In short\n\nTwo alarms fired.\n\n---\n\n| day | fired |\n| --- | ---: |\n| Mon | 2 |\n```\nx\n```'
  expect(excerptOf(content, 'Week 46')).toBe('Two alarms fired.\n| day | fired |\n| Mon | 2 |')
})

test('a first line that only repeats the title is left out, too', () => {
  expect(excerptOf('Week 46\nTwo alarms fired.', 'Week 46')).toBe('Two alarms fired.')
})

test('what merely looks a little like it is kept', () => {
  expect(excerptOf('#1 of three\n- a point\n-5 degrees', '')).toBe(
    '#1 of three\n- a point\n-5 degrees',
  )
})

test('it stays short, whole, and quick whatever was written', () => {
  const line = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('- '.repeat(900), '|-'.repeat(900), '| :'.repeat(700)),
  )
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const text = excerptOf(lines.join('\n'), 'title')
      expect(text.length).toBeLessThanOrEqual(280)
      expect(text).not.toMatch(/\p{Surrogate}/u)
      expect(text.split('\n').length).toBeLessThanOrEqual(3)
    }),
  )
})
