/**
 * Writes of ours in a transaction that the caller of the library has open on their own client: theirs to commit or to roll back.
 * Nothing else of that connection changes, so that it may be one of a pooler in transaction mode: settings are put back, and there is
 * no statement with a name, no lock that outlives the transaction and no LISTEN.
 */
import { Refusal } from '../core/errors.ts'
import { type Db, sqlState } from './db.ts'
import { borrowedDb, type SqlClient } from './pool.ts'
import { VALUE_FORMATS } from './reading.ts'

export interface Join {
  /** Asks our own connection where it leads: before anybody waits with a connection in hand, of which there may be no other. */
  learnPlace(): Promise<void>
  /** Runs `work` in the open transaction of `client`. Where it fails, nothing of it stays, and the transaction can go on. */
  run<T>(client: SqlClient, work: (tx: Db) => Promise<T>): Promise<T>
}

const NO_TRANSACTION = '25P01'
const SAVEPOINT = 'wakeful_joined'
/** Which database of which server, without a table and without a right that not everybody has. */
const PLACE = `select current_database() as name, (select d.oid from pg_catalog.pg_database d where d.datname = current_database())::text
  || '@' || extract(epoch from pg_catalog.pg_postmaster_start_time())::text as place`
const MOMENT = `extract(epoch from clock_timestamp())::text as now`

interface Place {
  readonly name: string
  readonly place: string
}

/** `own`: the database in which the store is. */
export function joinOf(own: Db, options: Parameters<typeof borrowedDb>[1]): Join {
  let ours: Place | undefined
  const learnPlace = async () => {
    ;[ours] = await own.query<Place & object>(PLACE)
  }
  const requireSamePlace = async (client: SqlClient) => {
    const [theirs] = await ask<Place>(client, PLACE)
    // A restarted server counts as another place.
    if (theirs?.place !== ours?.place) await learnPlace()
    if (theirs?.place === ours?.place) return
    throw new Refusal(
      'rule',
      `client: is connected to the database "${theirs?.name}", and this person's rows are in another one, "${ours?.name}" of its server: take a client of that database, or leave client out`,
    )
  }
  return {
    learnPlace,
    async run(client, work) {
      await ask(client, `savepoint ${SAVEPOINT}`).catch((error: unknown) => {
        if (sqlState(error) !== NO_TRANSACTION) throw error
        throw new Refusal('rule', 'client: no transaction is open on it; begin one first')
      })
      try {
        await requireSamePlace(client)
        const before = await formats(client)
        const done = await work(borrowedDb(client, options, Number(before.now) * 1000))
        const back = VALUE_FORMATS.names.map((_, n) => before[`f${n}`] ?? '')
        await setFormats(client, back)
        await ask(client, `release savepoint ${SAVEPOINT}`)
        return done
      } catch (error) {
        // It takes the settings back as well.
        const back = `rollback to savepoint ${SAVEPOINT}; release savepoint ${SAVEPOINT}`
        await ask(client, back).catch(() => {
          throw error
        })
        throw error
      }
    },
  }
}

async function ask<R>(client: SqlClient, text: string, values: unknown[] = []): Promise<R[]> {
  const { rows } = await client.query(values.length === 0 ? { text } : { text, values })
  return rows as R[]
}

/** Answers with what they were, and the time. */
async function formats(client: SqlClient): Promise<Readonly<Record<string, string>>> {
  const columns = VALUE_FORMATS.names.map((name, n) => `current_setting('${name}') as f${n}`)
  const [before] = await ask<Record<string, string>>(
    client,
    `select ${[...columns, MOMENT].join(', ')}`,
  )
  if (before === undefined) throw new Error('the database did not tell its settings')
  await setFormats(client, VALUE_FORMATS.values)
  return before
}

/** For this transaction alone. */
async function setFormats(client: SqlClient, values: readonly string[]): Promise<void> {
  const calls = VALUE_FORMATS.names.map((name, n) => `set_config('${name}', $${n + 1}, true)`)
  await ask(client, `select ${calls.join(', ')}`, [...values])
}
