/** A Citus cluster that somebody has started for the tests: `WAKEFUL_TEST_CITUS_URL` is its coordinator, with two workers or more. */
import pg from 'pg'

/** As an operator says it for the database: our schemas are spread, and what is set for a transaction is set on its nodes, too. */
const OPTIONS = '-c citus.enable_schema_based_sharding=on -c citus.propagate_set_commands=local'

function citusUrl(): string {
  const given = process.env.WAKEFUL_TEST_CITUS_URL
  if (given === undefined) throw new Error('WAKEFUL_TEST_CITUS_URL names no coordinator')
  const url = new URL(given)
  url.search = `options=${encodeURIComponent(OPTIONS)}`
  return url.href
}

export async function onCitus<R extends object>(sql: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: citusUrl() })
  await client.connect()
  try {
    return (await client.query<R & pg.QueryResultRow>(sql)).rows
  } finally {
    await client.end()
  }
}

/** Without any schema of ours. Answers with its address. */
export async function emptyCitus(): Promise<string> {
  const schemas = await onCitus<{ name: string }>(
    `select nspname::text as name from pg_namespace where nspname ~ '^wakeful(_[0-9]+)?$' order by 1`,
  )
  for (const { name } of schemas) await onCitus(`drop schema ${name} cascade`)
  return citusUrl()
}
