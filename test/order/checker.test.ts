/** The checker of order finds what must not be, and lets pass what may (invariants 1, 2, 3 and 9 as one history). */
import { describe, expect, it } from 'vitest'
import { check } from './checker.ts'
import { History, type Operation, toEdn, toJson } from './history.ts'

const append = (element: string, key = 'a'): Operation => ['append', key, element]
const read = (elements: readonly string[], key = 'a'): Operation => ['r', key, elements]

/** One after the other. */
function told(...values: readonly (readonly Operation[])[]): History {
  const history = new History()
  for (const value of values) history.invoke(value)('ok')
  return history
}

const rules = (history: History) => check(history.entries).map(({ rule }) => rule)

describe('histories that may be', () => {
  it('appends and reads one after the other', () => {
    expect(rules(told([append('1')], [read(['1'])], [append('2')], [read(['1', '2'])]))).toEqual([])
  })

  it('appends side by side, in either order', () => {
    const history = new History()
    const [one, two] = [history.invoke([append('1')]), history.invoke([append('2')])]
    one('ok')
    two('ok')
    history.invoke([read(['2', '1'])])('ok')
    expect(rules(history)).toEqual([])
  })

  it('an append that nobody knows the end of, seen or never seen', () => {
    const history = new History()
    history.invoke([append('1')])('info')
    history.invoke([append('2')])
    history.invoke([read(['1'])])('ok')
    expect(rules(history)).toEqual([])
  })

  it('a turn that reads one list and appends to another', () => {
    const turn = [read(['1']), append('1', 'a done')]
    expect(rules(told([append('1')], turn, [read(['1'], 'a done')]))).toEqual([])
  })
})

describe('planted faults', () => {
  it('rule 1: an element twice, out of nowhere, or of a failed append', () => {
    expect(rules(told([append('1')], [read(['1', '1'])]))).toContain(1)
    expect(rules(told([read(['1'])]))).toContain(1)
    const history = new History()
    history.invoke([append('1')])('fail')
    history.invoke([read(['1'])])('ok')
    expect(rules(history)).toEqual([1])
  })

  it('rule 2: two reads that do not agree', () => {
    const both = [[append('1')], [append('2')]]
    expect(rules(told(...both, [read(['1', '2'])], [read(['2'])]))).toEqual([2])
  })

  it('rule 3: an acknowledged append that is gone', () => {
    expect(rules(told([append('1')], [append('2')], [read(['2'])]))).toContain(3)
  })

  it('rule 4: appends in another order than they were acknowledged in', () => {
    expect(rules(told([append('1')], [append('2')], [read(['2', '1'])]))).toEqual([4])
  })

  it('rule 4: a read that is older than what was acknowledged before it', () => {
    expect(rules(told([append('1')], [append('2')], [read(['1'])], [read(['1', '2'])]))).toEqual([
      4,
    ])
  })

  it('rule 4: a read of what was appended only later', () => {
    const history = new History()
    history.invoke([read(['1'])])('ok')
    history.invoke([append('1')])('ok')
    expect(rules(history)).toEqual([4])
  })

  it('rule 4: two turns that each saw what the other did not (over two lists)', () => {
    const history = new History()
    const one = history.invoke([read([], 'b'), append('1', 'a')])
    const two = history.invoke([read([], 'a'), append('1', 'b')])
    one('ok')
    two('ok')
    history.invoke([read(['1'], 'a'), read(['1'], 'b')])('ok')
    expect(rules(history)).toEqual([4])
  })
})

it('is written as public checkers read it', () => {
  const history = told([append('x')], [read(['x'])])
  history.invoke([append('y')])
  const { entries } = history
  expect(toEdn(entries).split('\n').slice(-3)).toEqual([
    '{:index 3, :type :ok, :process 1, :f :txn, :value [[:r "a" [1]]]}',
    '{:index 4, :type :invoke, :process 2, :f :txn, :value [[:append "a" 2]]}',
    '{:index 5, :type :info, :process 2, :f :txn, :value [[:append "a" 2]]}',
  ])
  expect(JSON.parse(toJson(entries).split('\n')[0] ?? '')).toEqual(entries[0])
})
