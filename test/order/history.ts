/**
 * A history in the form that public checkers of transactions read (Elle's list-append): who asked for what and when, and what they
 * were told. The log of a session is a list; what is appended to it is the id of an event. Turns read it up to their
 * event and append to a second list, what their session has done.
 */
export type Operation =
  | readonly ['append', key: string, element: string]
  /** Null before it is known. */
  | readonly ['r', key: string, elements: readonly string[] | null]

export interface Entry {
  readonly index: number
  /** `info`: nobody knows whether it happened. */
  readonly type: 'invoke' | 'ok' | 'fail' | 'info'
  readonly process: number
  readonly f: 'txn'
  readonly value: readonly Operation[]
}

/** Written down by those who ask; the order of the entries is the order of time. */
export class History {
  readonly entries: Entry[] = []
  #process = 0

  /** Each transaction is a process of its own: answers with how to say what came of it. */
  invoke(
    value: readonly Operation[],
  ): (type: 'ok' | 'fail' | 'info', value?: readonly Operation[]) => void {
    const process = this.#process++
    const add = (type: Entry['type'], said: readonly Operation[]) =>
      this.entries.push({ index: this.entries.length, type, process, f: 'txn', value: said })
    add('invoke', value)
    let over = false
    return (type, answer = value) => {
      if (!over) add(type, answer)
      over = true
    }
  }
}

export function toJson(entries: readonly Entry[]): string {
  return entries.map((entry) => JSON.stringify(entry)).join('\n')
}

/**
 * One map for each entry, as Elle and jepsen read them: elements are numbers, in the order they came up, and what nobody heard of any more
 * ends as `info`.
 */
export function toEdn(entries: readonly Entry[]): string {
  const numbers = new Map<string, number>()
  const number = (element: string) => {
    const known = numbers.get(element) ?? numbers.size + 1
    numbers.set(element, known)
    return known
  }
  const operation = ([f, key, value]: Operation) => {
    if (value === null) return `[:${f} ${text(key)} nil]`
    const said = typeof value === 'string' ? number(value) : `[${value.map(number).join(' ')}]`
    return `[:${f} ${text(key)} ${said}]`
  }
  return [...entries, ...unheard(entries)]
    .map(
      ({ index, type, process, value }) =>
        `{:index ${index}, :type :${type}, :process ${process}, :f :txn, :value [${value.map(operation).join(' ')}]}`,
    )
    .join('\n')
}

function unheard(entries: readonly Entry[]): Entry[] {
  const ended = new Set(entries.flatMap(({ type, process }) => (type === 'invoke' ? [] : process)))
  return entries
    .filter(({ process }) => !ended.has(process))
    .map((entry, place) => ({ ...entry, type: 'info', index: entries.length + place }))
}

function text(value: string): string {
  return JSON.stringify(value)
}
