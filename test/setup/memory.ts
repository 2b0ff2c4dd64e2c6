/**
 * Where the tests' databases and folders lie: in memory where there is enough of it, since nothing in them outlives the
 * run. A copy of the template takes 0.02 s there, 0.3 s on a disk.
 */
import { accessSync, constants, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
const WANTED_BYTES = 3 * 2 ** 30

export function quickFolder(): string {
  try {
    accessSync(MEMORY, constants.R_OK | constants.W_OK | constants.X_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize > WANTED_BYTES && freemem() > 2 * WANTED_BYTES ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}
