/**
 * Files in a directory. Each is written beside its place, flushed and renamed, so that what has its name is
 * whole; the names are checked, so that nothing outside can be reached.
 */
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { newId } from '../core/ids.ts'
import { ownerOfKey } from '../features/work/file.ts'
import type { FileKeeper, KeptFile, ListedFile } from './keeper.ts'

const UNFINISHED = /^\.[0-9a-f-]{36}$/

export interface DirectoryOptions {
  /** Asked for at each call: a fresh installation learns its own name only when the database is there. */
  readonly root: () => string
  /** Nothing here outlives the process. */
  readonly temporary?: boolean
}

export class DirectoryKeeper implements FileKeeper {
  readonly #options: DirectoryOptions

  constructor(options: DirectoryOptions) {
    this.#options = options
  }

  async put(
    key: string,
    bytes: Uint8Array,
    _mediaType: string,
    signal?: AbortSignal,
  ): Promise<void> {
    const path = this.#path(key)
    signal?.throwIfAborted()
    const unfinished = join(dirname(path), `.${newId()}`)
    try {
      const file = await makeFile(unfinished)
      try {
        await file.writeFile(bytes, signal === undefined ? {} : { signal })
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(unfinished, path)
      await flush(dirname(path))
    } catch (error) {
      await rm(unfinished, { force: true })
      throw error
    }
  }

  async open(key: string): Promise<KeptFile | null> {
    const file = await absentIsNull(open(this.#path(key), 'r'))
    if (file === null) return null
    const { size } = await file.stat()
    return { size, stream: file.createReadStream() }
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const path = this.#path(key)
      await rm(path, { force: true })
      await removeEmpty(dirname(path))
    }
  }

  async removeUnder(prefix: string): Promise<void> {
    const owner = ownerOfKey(`${prefix}1-00000000-0000-7000-8000-000000000000`)
    if (owner === null) throw new Error('removeUnder needs a prefix made by workPrefix')
    await rm(join(this.#options.root(), String(owner.bucket), owner.workId), {
      recursive: true,
      force: true,
    })
  }

  /** Whole works at a time: a work's directory is small, the number of works is not. */
  async list(after: string | null, limit: number) {
    const root = this.#options.root()
    const files: ListedFile[] = []
    for (const bucket of await names(root)) {
      if (after !== null && bucket < (after.split('/', 1)[0] ?? '')) continue
      for (const work of await names(join(root, bucket))) {
        const folder = `${bucket}/${work}`
        if (after !== null && folder <= after) continue
        files.push(...(await this.#listFolder(folder)))
        if (files.length >= limit) return { files, next: folder }
      }
    }
    return { files, next: null }
  }

  async #listFolder(folder: string): Promise<ListedFile[]> {
    const root = this.#options.root()
    const listed: ListedFile[] = []
    for (const name of await names(join(root, folder))) {
      const key = `${folder}/${name}`
      // What a dying process left half written is listed too, to be swept like any file without a row.
      if (ownerOfKey(key) === null && !UNFINISHED.test(name)) continue
      const seen = await absentIsNull(stat(join(root, key)))
      if (seen?.isFile()) listed.push({ key, modifiedAt: seen.mtime })
    }
    return listed
  }

  async close(): Promise<void> {
    if (this.#options.temporary === true)
      await rm(this.#options.root(), { recursive: true, force: true })
  }

  #path(key: string): string {
    const [bucket, work, name] = key.split('/')
    const ours =
      ownerOfKey(key) !== null ||
      (UNFINISHED.test(name ?? '') &&
        ownerOfKey(`${bucket}/${work}/1-${name?.slice(1)}`) !== null &&
        key === `${bucket}/${work}/${name}`)
    if (!ours) throw new Error(`not a file key: "${key}"`)
    return join(this.#options.root(), key)
  }
}

/** A sweep may remove the empty folder between its making and its first file: then it is made again. */
async function makeFile(path: string): Promise<FileHandle> {
  for (let attempt = 1; ; attempt++) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    try {
      return await open(path, 'wx', 0o600)
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ENOENT' || attempt >= 5) throw error
    }
  }
}

/** The new name itself must outlive a power cut, too. */
export async function flush(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function names(path: string): Promise<string[]> {
  return ((await absentIsNull(readdir(path))) ?? []).sort()
}

async function absentIsNull<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw error
  }
}

async function removeEmpty(path: string): Promise<void> {
  try {
    await rmdir(path)
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error
  }
}
