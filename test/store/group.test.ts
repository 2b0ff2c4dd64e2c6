/** Group commit: shares commits, keeps order, and isolates the one item that cannot be written. */
import { expect, it } from 'vitest'
import { GroupCommit, type GroupCommitOptions } from '../../src/store/group.ts'
import { until } from '../setup/until.ts'

interface Door {
  readonly items: number[]
  readonly open: () => void
  readonly fail: (error: Error) => void
}

/** A group whose commits stand still until the test opens them. */
function gated(options: Partial<GroupCommitOptions<number, string>> = {}) {
  const doors: Door[] = []
  const group = new GroupCommit<number, string>({
    commit: (items) =>
      new Promise((done, fail) => {
        doors.push({ items, open: () => done(items.map((item) => `did ${item}`)), fail })
      }),
    batchMax: 10,
    lanes: 1,
    queueMax: 100,
    onFull: () => new Error('full'),
    ...options,
  })
  const door = (index: number) => until('a door', () => doors[index])
  return { group, doors, door }
}

const poisoned = (code: string, message = 'poison') => Object.assign(new Error(message), { code })

it('calls of one event-loop turn share one commit; those that come meanwhile share the next', async () => {
  const sizes: number[] = []
  const { group, doors, door } = gated({ onBatch: (size) => sizes.push(size) })
  const first = [1, 2, 3].map((item) => group.submit(item))
  const one = await door(0)
  const second = [4, 5].map((item) => group.submit(item))
  expect(group.depth).toBe(2)
  expect(doors).toHaveLength(1)
  one.open()
  expect(await Promise.all(first)).toEqual(['did 1', 'did 2', 'did 3'])
  ;(await door(1)).open()
  expect(await Promise.all(second)).toEqual(['did 4', 'did 5'])
  expect(doors.map(({ items }) => items)).toEqual([
    [1, 2, 3],
    [4, 5],
  ])
  expect(sizes).toEqual([3, 2])
})

it('a batch is bounded, and there are never more commits at once than lanes', async () => {
  const { group, doors, door } = gated({ batchMax: 2, lanes: 2 })
  const all = Array.from({ length: 7 }, (_, n) => group.submit(n))
  await door(1)
  expect(doors.map(({ items }) => items)).toEqual([
    [0, 1],
    [2, 3],
  ])
  for (let index = 0; index < 4; index++) (await door(index)).open()
  expect(await Promise.all(all)).toHaveLength(7)
  expect(doors.map(({ items }) => items.length)).toEqual([2, 2, 2, 1])
})

it('beyond its bound the queue refuses at once instead of growing', async () => {
  const { group, door } = gated({ queueMax: 3 })
  const running = group.submit(0)
  const one = await door(0)
  const waiting = [1, 2, 3].map((item) => group.submit(item))
  await expect(group.submit(4)).rejects.toThrow('full')
  one.open()
  ;(await door(1)).open()
  await Promise.all([running, ...waiting])
  expect(group.depth).toBe(0)
})

it('idle resolves when nothing waits and nothing runs, also if nothing ever did', async () => {
  const { group, door } = gated()
  await group.idle()
  let still = false
  const submitted = group.submit(1)
  const idle = group.idle().then(() => {
    still = true
  })
  const one = await door(0)
  expect(still).toBe(false)
  one.open()
  await Promise.all([submitted, idle])
  expect(still).toBe(true)
})

it.each([1, 2, 3, 8])(
  'invariant 14: of 8 items, %i poison ones fail alone and the others are done once',
  async (count) => {
    const done: number[] = []
    const bad = new Set(Array.from({ length: count }, (_, n) => (n * 3) % 8))
    let commits = 0
    const group = new GroupCommit<number, string>({
      commit: async (items) => {
        commits++
        const culprit = items.find((item) => bad.has(item))
        if (culprit !== undefined) throw poisoned('22P02', `item ${culprit}`)
        done.push(...items)
        return items.map((item) => `did ${item}`)
      },
      batchMax: 100,
      lanes: 1,
      queueMax: 100,
      onFull: () => new Error('full'),
    })
    const answers = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => group.submit(n)))
    for (const [n, answer] of answers.entries()) {
      if (bad.has(n))
        expect(answer).toMatchObject({ status: 'rejected', reason: { message: `item ${n}` } })
      else expect(answer).toEqual({ status: 'fulfilled', value: `did ${n}` })
    }
    expect(done.sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7].filter((n) => !bad.has(n)))
    expect(commits).toBeLessThanOrEqual(15)
  },
)

it('invariant 14: an error that names no database condition is some item’s fault too', async () => {
  const group = new GroupCommit<number, string>({
    commit: async (items) => {
      if (items.includes(2)) throw new TypeError('cannot be put into words')
      return items.map(String)
    },
    batchMax: 100,
    lanes: 1,
    queueMax: 100,
    onFull: () => new Error('full'),
  })
  const answers = await Promise.allSettled([1, 2, 3].map((n) => group.submit(n)))
  expect(answers.map((answer) => answer.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

it.each([
  poisoned('57P01', 'terminating connection'),
  poisoned('40001', 'could not serialize'),
  poisoned('53100', 'disk full'),
  poisoned('ECONNRESET', 'reset'),
  new Error('Connection terminated unexpectedly'),
])('an error that is nobody’s fault is not tried in halves: %s', async (error) => {
  let commits = 0
  const group = new GroupCommit<number, string>({
    commit: async () => {
      commits++
      throw error
    },
    batchMax: 100,
    lanes: 1,
    queueMax: 100,
    onFull: () => new Error('full'),
  })
  const answers = await Promise.allSettled([1, 2, 3, 4].map((n) => group.submit(n)))
  for (const answer of answers) expect(answer).toEqual({ status: 'rejected', reason: error })
  expect(commits).toBe(1)
  await group.idle()
})

it('a failed commit does not stop the lane: what comes later is done', async () => {
  const { group, door } = gated()
  const failing = group.submit(1)
  ;(await door(0)).fail(poisoned('57P01'))
  await expect(failing).rejects.toMatchObject({ code: '57P01' })
  const later = group.submit(2)
  ;(await door(1)).open()
  expect(await later).toBe('did 2')
})
