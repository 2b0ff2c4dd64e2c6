/**
 * Is a list-append history one that a single log could have had, with everything in the order of time? The rules:
 *
 * 1. No read holds an element twice, or one that nobody appended, or one whose append failed.
 * 2. Of any two reads of a list one begins with the other: together they tell its order.
 * 3. An append that was acknowledged is in some read, if its list was read after that: else it is lost.
 * 4. The transactions can be put in a row in which each read holds exactly what was appended before it, and in which one that had
 *    ended before another began stands before it. That is so where the graph of who must stand before whom has no circle. Its
 *    edges: to the next append of a list (ww), from an append to the first read that holds it (wr), from a read to the first append
 *    that it does not hold (rw), and from the end of one to the beginning of another (time).
 *
 * An append nobody knows the end of (`info`) may have happened at any time after its beginning, or never.
 */
import type { Entry, Operation } from './history.ts'

export interface Fault {
  readonly rule: 1 | 2 | 3 | 4
  readonly what: string
}

interface Transaction {
  readonly id: number
  readonly begins: number
  /** Infinite where nobody knows. */
  readonly ends: number
  readonly outcome: 'ok' | 'fail' | 'info'
  readonly value: readonly Operation[]
}

export function check(entries: readonly Entry[]): Fault[] {
  const transactions = pair(entries)
  const appends = new Map<string, Transaction>()
  for (const each of transactions)
    for (const [f, key, element] of each.value)
      if (f === 'append') appends.set(`${key} ${element}`, each)
  const reads = readsOf(transactions)
  const faults = [...impossible(reads, appends), ...apart(reads)]
  // Without one order of each list there is nothing to build on.
  if (faults.length > 0) return faults
  const orders = ordersOf(reads)
  return [...lost(transactions, reads, orders), ...circles(transactions, reads, orders, appends)]
}

function pair(entries: readonly Entry[]): Transaction[] {
  const open = new Map<number, Entry>()
  const pairs: Transaction[] = []
  const add = (begin: Entry, end: Entry | null) => {
    const outcome = end === null || end.type === 'invoke' ? 'info' : end.type
    const known = outcome === 'info' ? Number.POSITIVE_INFINITY : (end?.index ?? 0)
    const value = outcome === 'ok' && end !== null ? end.value : begin.value
    pairs.push({ id: pairs.length, begins: begin.index, ends: known, outcome, value })
  }
  for (const entry of entries) {
    const begin = open.get(entry.process)
    if (entry.type === 'invoke') open.set(entry.process, entry)
    else if (begin !== undefined) {
      add(begin, entry)
      open.delete(entry.process)
    }
  }
  for (const begin of open.values()) add(begin, null)
  return pairs
}

interface Read {
  readonly by: Transaction
  readonly key: string
  readonly elements: readonly string[]
}

function readsOf(transactions: readonly Transaction[]): Read[] {
  return transactions
    .filter(({ outcome }) => outcome === 'ok')
    .flatMap((by) =>
      by.value.flatMap(([f, key, elements]) =>
        f === 'r' && elements !== null ? { by, key, elements: elements as readonly string[] } : [],
      ),
    )
}

function* impossible(
  reads: readonly Read[],
  appends: ReadonlyMap<string, Transaction>,
): Generator<Fault> {
  for (const { key, elements } of reads) {
    if (new Set(elements).size < elements.length)
      yield { rule: 1, what: `${key} holds an element twice: ${elements.join(' ')}` }
    for (const element of elements) {
      const by = appends.get(`${key} ${element}`)
      if (by === undefined)
        yield { rule: 1, what: `${key} holds ${element}, which nobody appended` }
      else if (by.outcome === 'fail')
        yield { rule: 1, what: `${key} holds ${element}, whose append failed` }
    }
  }
}

function* apart(reads: readonly Read[]): Generator<Fault> {
  const longest = ordersOf(reads)
  for (const { key, elements } of reads) {
    const whole = longest.get(key) ?? []
    const at = elements.findIndex((element, n) => whole[n] !== element)
    if (at >= 0)
      yield { rule: 2, what: `${key} was read with ${elements[at]} and with ${whole[at]} at ${at}` }
  }
}

function ordersOf(reads: readonly Read[]): Map<string, readonly string[]> {
  const longest = new Map<string, readonly string[]>()
  for (const { key, elements } of reads)
    if (elements.length > (longest.get(key)?.length ?? -1)) longest.set(key, elements)
  return longest
}

function* lost(
  transactions: readonly Transaction[],
  reads: readonly Read[],
  orders: ReadonlyMap<string, readonly string[]>,
): Generator<Fault> {
  const lastRead = new Map<string, number>()
  for (const { key, by } of reads) lastRead.set(key, Math.max(lastRead.get(key) ?? 0, by.begins))
  for (const { outcome, value, ends } of transactions) {
    if (outcome !== 'ok') continue
    for (const [f, key, element] of value) {
      if (f !== 'append' || (lastRead.get(key) ?? 0) < ends) continue
      if (!orders.get(key)?.includes(element as string))
        yield { rule: 3, what: `${element} was appended to ${key} and is in no later read` }
    }
  }
}

type Edges = Map<number, Set<number>>

function* circles(
  transactions: readonly Transaction[],
  reads: readonly Read[],
  orders: ReadonlyMap<string, readonly string[]>,
  appends: ReadonlyMap<string, Transaction>,
): Generator<Fault> {
  const edges: Edges = new Map(transactions.map(({ id }) => [id, new Set<number>()]))
  const edge = (from: Transaction | undefined, to: Transaction | undefined) => {
    if (from !== undefined && to !== undefined && from !== to) edges.get(from.id)?.add(to.id)
  }
  const writer = (key: string, n: number) => appends.get(`${key} ${orders.get(key)?.[n]}`)
  for (const [key, order] of orders)
    for (let n = 1; n < order.length; n++) edge(writer(key, n - 1), writer(key, n))
  for (const { by, key, elements } of reads) {
    if (elements.length > 0) edge(writer(key, elements.length - 1), by)
    if (elements.length < (orders.get(key)?.length ?? 0)) edge(by, writer(key, elements.length))
  }
  timeEdges(
    transactions.filter(({ outcome }) => outcome !== 'fail'),
    edge,
  )
  for (const circle of components(edges)) {
    const members = circle.map((id) => JSON.stringify(transactions[id]?.value)).slice(0, 4)
    yield { rule: 4, what: `no order in time: ${members.join(' → ')}` }
  }
}

/** From each end to the next beginnings: those after them follow by the others' own ends. */
function timeEdges(
  transactions: readonly Transaction[],
  edge: (from: Transaction, to: Transaction) => void,
): void {
  const points = transactions.flatMap((each) => [
    { at: each.begins, each, ends: false },
    ...(Number.isFinite(each.ends) ? [{ at: each.ends, each, ends: true }] : []),
  ])
  points.sort((a, b) => a.at - b.at)
  // Those that have ended, and before none of which another of them began to stand.
  let front: Transaction[] = []
  for (const { each, ends } of points) {
    if (!ends) for (const before of front) edge(before, each)
    else {
      front = front.filter((before) => before.ends > each.begins)
      front.push(each)
    }
  }
}

/** Circles of a graph: its strongly connected components of more than one (Tarjan, without recursion). */
function components(edges: Edges): number[][] {
  const found: number[][] = []
  const index = new Map<number, number>()
  const low = new Map<number, number>()
  const stack: number[] = []
  const on = new Set<number>()
  const visit = (root: number) => {
    const work = [{ node: root, next: [...(edges.get(root) ?? [])] }]
    const enter = (node: number) => {
      index.set(node, index.size)
      low.set(node, index.get(node) ?? 0)
      stack.push(node)
      on.add(node)
    }
    enter(root)
    while (work.length > 0) {
      const top = work.at(-1) as { node: number; next: number[] }
      const to = top.next.pop()
      const lower = (value: number | undefined) =>
        low.set(top.node, Math.min(low.get(top.node) ?? 0, value ?? 0))
      if (to !== undefined) {
        if (!index.has(to)) {
          enter(to)
          work.push({ node: to, next: [...(edges.get(to) ?? [])] })
        } else if (on.has(to)) lower(index.get(to))
        continue
      }
      work.pop()
      const above = work.at(-1)
      if (above !== undefined)
        low.set(above.node, Math.min(low.get(above.node) ?? 0, low.get(top.node) ?? 0))
      if (low.get(top.node) !== index.get(top.node)) continue
      const component = stack.splice(stack.indexOf(top.node))
      for (const node of component) on.delete(node)
      if (component.length > 1) found.push(component)
    }
  }
  for (const node of edges.keys()) if (!index.has(node)) visit(node)
  return found
}
