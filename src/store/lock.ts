/**
 * An exclusive lock on the embedded data directory, held by the operating system: it vanishes with
 * its process, however that ends. Two openers of one PGlite directory silently lose commits.
 */
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { tryLock } from 'fs-native-extensions'

export class DirectoryInUseError extends Error {
  override readonly name = 'DirectoryInUseError'
}

/** Takes the lock beside `directory` and returns what releases it. */
export function lockDirectory(directory: string): () => void {
  const path = `${directory}.lock`
  mkdirSync(dirname(path), { recursive: true })
  const fd = openSync(path, 'a+')
  if (!tryLock(fd)) {
    const holder = readFileSync(path, 'utf8').trim()
    closeSync(fd)
    throw new DirectoryInUseError(
      `the data directory ${directory} is in use by another process${holder === '' ? '' : ` (pid ${holder})`}: stop it first, or give this one a directory of its own with DATABASE_URL=pglite:<dir>`,
    )
  }
  ftruncateSync(fd)
  writeSync(fd, `${process.pid}\n`)
  // Closing the descriptor releases the lock; the file stays, since removing it would race with the next taker.
  return () => closeSync(fd)
}
