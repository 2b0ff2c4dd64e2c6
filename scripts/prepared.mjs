// Writes dist/prepared.tar.br: an embedded data directory with all migrations applied, and without the databases that others
// would be made from: nobody makes any here, and a first start writes half as many files.
import { rmSync, writeFileSync } from 'node:fs'
import { brotliCompressSync, constants } from 'node:zlib'
import { PGlite } from '@electric-sql/pglite'
import { SCHEMA } from '../src/store/db.ts'
import { migrateUp } from '../src/store/migrate.ts'

const file = new URL('../dist/prepared.tar.br', import.meta.url)
rmSync(file, { force: true })
const lite = await PGlite.create()
const db = {
  kind: 'pglite',
  schema: SCHEMA,
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
for (const template of ['template0', 'template1']) {
  await lite.exec(`update pg_database set datistemplate = false where datname = '${template}'`)
  await lite.exec(`drop database ${template}`)
}
await lite.exec('checkpoint')
const tar = Buffer.from(await (await lite.dumpDataDir('none')).arrayBuffer())
const params = {
  [constants.BROTLI_PARAM_QUALITY]: 9,
  [constants.BROTLI_PARAM_LGWIN]: 24,
  [constants.BROTLI_PARAM_SIZE_HINT]: tar.length,
}
writeFileSync(file, brotliCompressSync(tar, { params }))
await lite.close()
