/** The tables as they are between two steps. */
import type { Db } from '../../src/store/db.ts'
import { EVERY } from './written.ts'

export interface SessionFact {
  readonly key: string
  readonly last_seq: number
  readonly done_seq: number
  /** When its next turn may begin; null where none waits. */
  readonly due: number | null
  readonly leased: boolean
  /** The timer whose turn runs before its event exists. */
  readonly in_flight: string | null
  readonly consecutive: number
  /** What the agent's state says it has seen; null before its first checkpoint. */
  readonly seen: number[] | null
}
export interface EventFact {
  readonly key: string
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly trigger_id: string | null
  readonly slot: number | null
  readonly attempt: number | null
  readonly timer_id: string | null
}
export interface TurnFact {
  readonly key: string
  readonly seq: number
  readonly attempt: number
  readonly status: 'committed' | 'failed' | 'retrying'
  readonly cause: string | null
  readonly allowed: boolean[]
  /** By preferences: its slot comes later, or nothing is said. The agent was not woken, or not heard. */
  readonly held: 'later' | 'dropped' | null
}
export interface EffectFact {
  readonly key: string
  readonly seq: number
  readonly position: number
  readonly id: string
  readonly type: string
  readonly content: string | null
  readonly status: string
  readonly reason: string
  readonly at: number
}
export interface TimerFact {
  readonly key: string
  readonly id: string
  readonly timer_id: string
  readonly fire_at: number
  readonly status: string
}
export interface AlarmFact {
  readonly id: string
  readonly status: string
  readonly kind: string
  readonly due: number | null
  readonly in_flight: boolean
}
/** A slot whose moment has not come. */
export interface DeferredFact {
  readonly id: string
  readonly key: string
  readonly status: string
  readonly until: number | null
  readonly released_seq: number | null
}
export interface OutputFact {
  readonly work_id: string
  readonly run_number: number
  readonly status: string
  readonly slot: number | null
}

export interface Snapshot {
  readonly sessions: readonly SessionFact[]
  readonly events: readonly EventFact[]
  readonly turns: readonly TurnFact[]
  readonly effects: readonly EffectFact[]
  readonly timers: readonly TimerFact[]
  readonly alarms: readonly AlarmFact[]
  readonly outputs: readonly OutputFact[]
  readonly deferred: readonly DeferredFact[]
}

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

/** How a table is read: what of it, and by what its rows are told apart and ordered. */
interface Part {
  readonly what: string
  readonly from: string
  readonly where?: string
  readonly by: readonly string[]
}
type Row = Readonly<Record<string, string | number>>

const VERDICTS = `coalesce((select json_agg(v -> 'allowed') from json_array_elements(verdicts) v), '[]') as allowed,
      (select case when (v ->> 'deferred')::boolean then 'later' else 'dropped' end
       from json_array_elements(verdicts) v where (v -> 'deferred') is not null limit 1) as held`

const PARTS: Readonly<Record<keyof Snapshot | 'states' | 'outcomes', Part>> = {
  sessions: {
    what: `session_key as key, last_seq, done_seq, ${ms('due_at')} as due, claim_token is not null as leased, in_flight,
      consecutive_autonomous_msgs as consecutive, checkpoint_id as state`,
    from: 'sessions',
    by: ['key'],
  },
  states: {
    what: `thread_id as key, checkpoint_ns as ns, checkpoint_id as state, checkpoint -> 'seen' as seen`,
    from: 'checkpoints',
    by: ['key', 'ns', 'state'],
  },
  events: {
    what: `session_key as key, seq, id, type, trigger_id, ${ms('scheduled_for')} as slot,
      (payload ->> 'attempt')::int as attempt, payload ->> 'timer_id' as timer_id`,
    from: 'events',
    by: ['key', 'seq'],
  },
  turns: {
    what: `session_key as key, event_seq as seq, attempt, status, cause, ${VERDICTS}`,
    from: 'attempts',
    by: ['key', 'seq', 'attempt'],
  },
  outcomes: {
    what: `session_key as key, seq, 1 as attempt, 'committed' as status, null as cause, ${VERDICTS}`,
    from: 'events',
    where: 'ended_at is not null',
    by: ['key', 'seq', 'attempt'],
  },
  effects: {
    what: `session_key as key, event_seq as seq, position, id, type, payload ->> 'content' as content, status, reason,
      ${ms('created_at')} as at`,
    from: 'effects',
    by: ['key', 'position'],
  },
  timers: {
    what: `session_key as key, id, timer_id, ${ms('fire_at')} as fire_at, status`,
    from: 'autonomy_timers',
    by: ['key', 'timer_id'],
  },
  alarms: {
    what: `id, status, kind, ${ms('due_at')} as due, in_flight is not null as in_flight`,
    from: 'alarms',
    by: ['id'],
  },
  deferred: {
    what: `id, session_key as key, status, ${ms('release_at')} as until, released_seq`,
    from: 'deferred',
    by: ['id'],
  },
  outputs: {
    what: `work_id, run_number, status, ${ms('slot')} as slot`,
    from: 'work_outputs',
    by: ['work_id', 'run_number'],
  },
}
type Name = keyof typeof PARTS
const NAMES = Object.keys(PARTS) as Name[]

/** Of each table how many rows there are, and those that certain transactions have written; all of them where none is named. */
function lookAt(names: readonly Name[]): string {
  const parts = names.map((name) => {
    const { what, from, where = 'true' } = PARTS[name]
    return `(select count(*) from wakeful.${from} where ${where})::int as ${name}_count, (select coalesce(json_agg(r), '[]') from (
      select ${what} from wakeful.${from} t where ${where} and ($1::xid[] is null or t.xmin = any($1::xid[]))) r) as ${name}`
  })
  return `select ${parts.join(', ')}`
}

/** Looks at the tables again and again, and reads what has changed. */
export class Looking {
  readonly #db: Db
  readonly #parts = new Map<string, { rows: Map<string, Row>; sorted: Row[] }>()
  #version = 0
  #last: Snapshot | null = null

  constructor(db: Db) {
    this.#db = db
  }

  /** The very one from before where nobody has written since. `touched`: the tables that may have been written to. */
  async look(touched: ReadonlySet<string>): Promise<Snapshot> {
    const names = NAMES.filter((name) => touched.has(PARTS[name].from) || touched.has(EVERY))
    if (this.#last === null) return this.whole()
    if (names.length === 0) return this.#last
    const next = await this.#next()
    if (this.#version === next) return this.#last
    const wrote = Array.from({ length: next - this.#version }, (_, n) => String(this.#version + n))
    // A table that has lost a row must be read as a whole.
    if (!(await this.#read(names, wrote))) return this.whole()
    this.#version = next
    this.#last = this.#snapshot()
    return this.#last
  }

  /** Everything anew. */
  async whole(): Promise<Snapshot> {
    this.#version = await this.#next()
    this.#parts.clear()
    if (!(await this.#read(NAMES, null))) throw new Error('rows that cannot be told apart')
    this.#last = this.#snapshot()
    return this.#last
  }

  /** Another number after whatever has written since. */
  async #next(): Promise<number> {
    const [row] = await this.#db.query<{ next: number }>(
      'select pg_snapshot_xmax(pg_current_snapshot())::text::int as next',
    )
    return row?.next ?? 0
  }

  /** Whether as many rows are known afterwards as there are. */
  async #read(names: readonly Name[], wrote: readonly string[] | null): Promise<boolean> {
    const [row] = await this.#db.query<Record<string, string | number>>(lookAt(names), [wrote])
    return names.every((name) => {
      const fresh = JSON.parse(String(row?.[name])) as Row[]
      const { rows, sorted } = this.#parts.get(name) ?? { rows: new Map<string, Row>(), sorted: [] }
      const { by } = PARTS[name]
      for (const each of fresh) rows.set(by.map((column) => each[column]).join(' '), each)
      const again = fresh.length === 0 ? sorted : [...rows.values()].sort(inOrder(by))
      this.#parts.set(name, { rows, sorted: again })
      return rows.size === row?.[`${name}_count`]
    })
  }

  #snapshot(): Snapshot {
    const parts = Object.fromEntries(
      [...this.#parts].map(([name, { sorted }]) => [name, sorted] as const),
    )
    const states = this.#parts.get('states')?.rows
    const sessions = (parts.sessions ?? []).map(({ state, ...session }) => ({
      ...session,
      seen: states?.get(`${session.key}  ${state}`)?.seen ?? null,
    }))
    const turns = [...(parts.turns ?? []), ...(parts.outcomes ?? [])].sort(inOrder(PARTS.turns.by))
    delete parts.states
    delete parts.outcomes
    return { ...parts, sessions, turns } as unknown as Snapshot
  }
}

function inOrder(by: readonly string[]): (one: Row, other: Row) => number {
  return (one, other) => {
    for (const column of by) {
      const [a, b] = [one[column] ?? '', other[column] ?? '']
      if (a !== b) return a < b ? -1 : 1
    }
    return 0
  }
}
