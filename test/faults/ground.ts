/** What rows stand on, outside of vitest: a PostgreSQL of our own with a template database, folders, and figures. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEachTest } from '../setup/ends.ts'
import { copyOfTemplate, makeTemplate, SETTINGS } from '../setup/postgres.ts'
import { type RunningServer, startPostgres } from '../setup/server.ts'
import type { Ground } from './row.ts'

const servers = new Set<RunningServer>()
const folders: string[] = []
afterEachTest(async () => {
  for (const server of servers) await server.stop()
  servers.clear()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** `base`: the server that all rows share. */
export function groundOn(base: string, say: (figure: string) => void): Ground {
  return {
    say,
    database: () => copyOfTemplate(base),
    async server(settings = SETTINGS, directory) {
      const server = await startPostgres(settings, { directory })
      servers.add(server)
      await makeTemplate(server.base)
      return server
    },
    folder() {
      const made = mkdtempSync(join(tmpdir(), 'wakeful-fault-'))
      folders.push(made)
      return made
    },
  }
}
