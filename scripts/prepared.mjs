// Writes dist/prepared.tar.gz: an embedded data directory with all migrations applied.
import { rmSync, writeFileSync } from 'node:fs'
import { PGlite } from '@electric-sql/pglite'
import { migrateUp } from '../dist/store/db/migrate.js'

const file = new URL('../dist/prepared.tar.gz', import.meta.url)
rmSync(file, { force: true })
const lite = await PGlite.create()
const db = {
  kind: 'pglite',
  now: () => null,
  query: async (text, values = []) => (await lite.query(text, values)).rows,
  exec: async (text) => void (await lite.exec(text)),
  tx: async (work) => {
    await lite.exec('begin')
    try {
      const result = await work(db)
      await lite.exec('commit')
      return result
    } catch (error) {
      await lite.exec('rollback')
      throw error
    }
  },
}
await migrateUp(db)
await lite.exec('checkpoint')
const blob = await lite.dumpDataDir('gzip')
writeFileSync(file, Buffer.from(await blob.arrayBuffer()))
await lite.close()
