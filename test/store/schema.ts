/**
 * The schema as text, read from the catalogs: what a migration really made, in an order and a spelling
 * that do not depend on the store. Object ids, names of not-null constraints (the columns say it already)
 * and server-wide things such as roles are left out.
 */
import type { Db } from '../../src/store/db.ts'

interface Line {
  readonly owner: string
  readonly text: string
}

const TABLES = `select c.relname as owner,
    case c.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view' when 'm' then 'materialized view'
      when 'S' then 'sequence' else c.relkind::text end || ' ' || c.relname
      || case when c.reloptions is null then ''
           else ' with (' || array_to_string(array(select o from unnest(c.reloptions) o order by o), ', ') || ')' end
      || case when c.relrowsecurity then ' row security' else '' end
      || case when c.relforcerowsecurity then ' forced' else '' end
      || case when c.relpersistence = 'p' then '' else ' persistence ' || c.relpersistence::text end as text
  from pg_class c where c.relnamespace = to_regnamespace('wakeful') and c.relkind not in ('i', 'I', 't', 'c')`

const COLUMNS = `select c.relname as owner,
    'column ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
      || coalesce((select ' collate ' || quote_ident(l.collname) from pg_collation l join pg_type y on y.oid = a.atttypid
           where l.oid = a.attcollation and l.oid <> y.typcollation), '')
      || case when a.attnotnull then ' not null' else '' end
      || case when a.attidentity <> '' then ' identity ' || a.attidentity::text else '' end
      || case when a.attgenerated <> '' then ' generated ' || a.attgenerated::text else '' end
      || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as text
  from pg_attribute a join pg_class c on c.oid = a.attrelid
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where c.relnamespace = to_regnamespace('wakeful') and c.relkind in ('r', 'p', 'v', 'm')
    and a.attnum > 0 and not a.attisdropped
  order by c.oid, a.attnum`

const CONSTRAINTS = `select t.relname as owner, 'constraint ' || c.conname || ' ' || pg_get_constraintdef(c.oid) as text
  from pg_constraint c join pg_class t on t.oid = c.conrelid
  where t.relnamespace = to_regnamespace('wakeful') and c.contype <> 'n'`

const INDEXES = `select t.relname as owner, 'index ' || pg_get_indexdef(i.indexrelid) as text
  from pg_index i join pg_class t on t.oid = i.indrelid join pg_class n on n.oid = i.indexrelid
  where t.relnamespace = to_regnamespace('wakeful') and t.relkind <> 't'`

const POLICIES = `select tablename as owner, 'policy ' || policyname || ' ' || permissive || ' for ' || cmd
      || ' to ' || array_to_string(array(select r::text from unnest(roles) r order by r::text), ', ')
      || coalesce(' using ' || qual, '') || coalesce(' with check ' || with_check, '') as text
  from pg_policies where schemaname = 'wakeful'`

const TRIGGERS = `select t.relname as owner, 'trigger ' || pg_get_triggerdef(g.oid) as text
  from pg_trigger g join pg_class t on t.oid = g.tgrelid
  where t.relnamespace = to_regnamespace('wakeful') and not g.tgisinternal`

const GRANTS = `select c.relname as owner, 'grant ' || string_agg(a.privilege_type, ', ' order by a.privilege_type) || ' to '
      || case when a.grantee = 0 then 'public' else pg_get_userbyid(a.grantee)::text end as text
  from pg_class c cross join lateral aclexplode(c.relacl) a
  where c.relnamespace = to_regnamespace('wakeful') and c.relkind in ('r', 'p', 'v', 'm', 'S') and a.grantee <> c.relowner
  group by c.relname, a.grantee`

const FUNCTIONS = `select 'function ' || p.oid::regprocedure::text as text from pg_proc p
  where p.pronamespace = to_regnamespace('wakeful')`

/** Everything inside schema `wakeful`, one thing on each line, tables in order of their names. */
export async function schemaText(db: Db): Promise<string> {
  const tables = sorted(await db.query<Line>(TABLES))
  const parts = [...(await db.query<Line>(COLUMNS))]
  for (const query of [CONSTRAINTS, INDEXES, POLICIES, TRIGGERS, GRANTS])
    parts.push(...sorted(await db.query<Line>(query)))
  const blocks = tables.map(({ owner, text }) => [
    text,
    ...parts.filter((part) => part.owner === owner).map((part) => `  ${part.text}`),
  ])
  const functions = sorted(await db.query<{ text: string }>(FUNCTIONS))
  if (functions.length > 0) blocks.push(functions.map((row) => row.text))
  return `${blocks.map((block) => block.join('\n')).join('\n\n')}\n`
}

/** By code units, not by a collation of the server's. */
function sorted<L extends { text: string }>(lines: readonly L[]): L[] {
  return [...lines].sort((a, b) => (a.text < b.text ? -1 : 1))
}

/** Names of everything in the database that PostgreSQL did not bring along itself. */
export async function leftovers(db: Db): Promise<string[]> {
  const own = (column: string) =>
    `${column} not in (select oid from pg_namespace where nspname ~ '^pg_' or nspname = 'information_schema')`
  const rows = await db.query<{ text: string }>(
    `select 'schema ' || nspname as text from pg_namespace
       where nspname !~ '^pg_' and nspname not in ('public', 'information_schema')
     union all select 'relation ' || oid::regclass::text from pg_class where ${own('relnamespace')}
     union all select 'function ' || oid::regprocedure::text from pg_proc where ${own('pronamespace')}
     union all select 'type ' || oid::regtype::text from pg_type where ${own('typnamespace')}
     union all select 'extension ' || extname from pg_extension where extname <> 'plpgsql'
     union all select 'event trigger ' || evtname from pg_event_trigger
     union all select 'default privileges ' || oid::text from pg_default_acl
     order by 1`,
  )
  return rows.map((row) => row.text)
}
