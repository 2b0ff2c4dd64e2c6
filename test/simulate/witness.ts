/** What the people and receivers of a simulation saw, written down by themselves: the tables are not asked. */
import type { Attempt } from '../../src/features/alarms/rules.ts'
import { fateOf } from './dice.ts'

/** A request that was answered, or not yet. */
export interface Request {
  readonly name: string
  readonly args: object
  readonly user: string
  state: 'open' | 'acknowledged' | 'refused' | 'unanswered'
  answer: unknown
}

/** A message of a person that was acknowledged: it has this place for ever. */
export interface Said {
  readonly key: string
  readonly id: string
  readonly seq: number
}

export class Witness {
  readonly requests: Request[] = []
  readonly said: Said[] = []
  /** Alarms whose cancelling was acknowledged, with how many events they had become by then. */
  readonly cancelled = new Map<string, number>()
  /** How often each attempt was run, as `key seq attempt`. */
  readonly runs = new Map<string, number>()
  readonly works = new Map<string, number>()
  /** Every wake that reached its receiver: the delivery's id, its slot, and whether it was taken. */
  readonly wakes: { id: string; slot: string; taken: boolean }[] = []
  /** What came over a socket or to a device, with how often. */
  readonly heard = new Map<string, number>()
  /** Contents by effect id, as frames brought them. */
  readonly frames = new Map<string, string>()
  /** What nobody may ever see. */
  readonly wrongs: string[] = []

  ran(key: string, seq: number, attempt: number): void {
    count(this.runs, `${key} ${seq} ${attempt}`)
  }

  worked(slot: string): void {
    count(this.works, slot)
  }

  heardOnDevice(_key: string, content: string): void {
    count(this.heard, content)
  }

  heardFrame(id: string, content: string): void {
    count(this.heard, content)
    const before = this.frames.get(id) ?? content
    if (before !== content) this.wrongs.push(`frame ${id} was ${before} and is ${content}`)
    this.frames.set(id, content)
  }

  wakeTaken(id: string, body: string): Attempt {
    const { alarm_id, scheduled_for } = JSON.parse(body) as Record<string, string>
    const slot = `${alarm_id} ${scheduled_for}`
    const tries = this.wakes.filter((wake) => wake.slot === slot).length
    const taken = fateOf(`${slot} ${tries}`, 3) > 0
    this.wakes.push({ id, slot, taken })
    return taken
      ? { taken: true }
      : { taken: false, error: '503', terminal: false, retryAfter: null }
  }
}

function count(map: Map<string, number>, key: string): void {
  map.set(key, (map.get(key) ?? 0) + 1)
}
