/** Which tables a statement may write to, by its words. */

export const EVERY = 'every table'

const READS = /\bfor (?:no key )?update\b|\bdo update\b/gi
const WRITES = /\b(?:insert|update|delete|merge|truncate)\b/gi
const WHERE = /\b(?:insert\s+into|update|delete\s+from)\s+wakeful\.(\w+)/gi
/** Rows that go with others. */
const WITH: Readonly<Record<string, readonly string[]>> = { work: ['work_outputs'] }

const known = new Map<string, readonly string[]>()

export function writtenBy(text: string): readonly string[] {
  const found = known.get(text) ?? tablesIn(text)
  known.set(text, found)
  return found
}

function tablesIn(text: string): readonly string[] {
  const words = text.replaceAll(READS, '')
  const tables = [...words.matchAll(WHERE)].map(([, table = EVERY]) => table)
  // A word that names no table: nobody knows.
  if (tables.length !== (words.match(WRITES) ?? []).length) return [EVERY]
  return [...new Set(tables.flatMap((table) => [table, ...(WITH[table] ?? [])]))]
}
