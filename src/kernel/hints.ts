/**
 * Hints say "look now". Within the process they are a call; across processes they travel by NOTIFY,
 * gathered for a few milliseconds, since a NOTIFY for each write would make commits queue up behind
 * one another. Losing a hint costs at most a poll interval, or for keys the time they are believed without asking.
 */
import type { LiveFrame, LiveHints, LiveViewer, Reach } from './live.ts'

export const TOPICS = ['clock', 'turns', 'outbox', 'keys', 'stops'] as const
export type Topic = (typeof TOPICS)[number]

type Listener = (keys: readonly string[] | null) => void

export interface Hints extends LiveHints {
  /** Something changed under `topic`: for the outbox in these sessions, for keys with these (revoked) ones. */
  hint(topic: Topic, keys?: readonly string[]): void
  /** The same for this process alone, where the others have nothing to gain. */
  local(topic: Topic): void
}

export class LocalHints implements Hints {
  readonly #listeners = new Map<Topic, Set<Listener>>()
  #relay: ((topic: Topic, keys: readonly string[] | null) => void) | null = null
  /** The sockets of this process, and those of the others. */
  readonly #viewers: { here: LiveViewer | null; elsewhere: LiveViewer | null } = {
    here: null,
    elsewhere: null,
  }

  on(topic: Topic, listener: Listener): () => void {
    const set = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, set.add(listener))
    return () => set.delete(listener)
  }

  hint(topic: Topic, keys?: readonly string[]): void {
    this.deliver(topic, keys ?? null)
    this.#relay?.(topic, keys ?? null)
  }

  local(topic: Topic): void {
    this.deliver(topic, null)
  }

  /** A hint that came from another process: told here, not passed on. */
  deliver(topic: Topic, keys: readonly string[] | null): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener(keys)
  }

  view(where: 'here' | 'elsewhere', viewer: LiveViewer): void {
    this.#viewers[where] = viewer
  }

  watches(key: string): boolean {
    const { here, elsewhere } = this.#viewers
    return here?.watches(key) === true || elsewhere?.watches(key) === true
  }

  live(frame: LiveFrame, reach: Reach): void {
    if (reach !== 'elsewhere') this.#viewers.here?.showLive(frame)
    if (reach !== 'here') this.#viewers.elsewhere?.showLive(frame)
  }

  relayTo(relay: (topic: Topic, keys: readonly string[] | null) => void): void {
    this.#relay = relay
  }
}
