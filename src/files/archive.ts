/**
 * Where retention puts what it is about to remove: JSON lines, one file for each table and day. What `append` has answered is
 * there to stay. In a directory lines are added to the file; at an S3 address a file is written again with what is new, up to a size
 * from which on the day goes on in another.
 */
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { flush } from './directory.ts'
import type { KeptFile } from './keeper.ts'
import type { FilesSettings } from './open.ts'
import { S3Keeper } from './s3.ts'

/** A file at an S3 address is sent as a whole each time: beyond this size another begins. */
export const PART_MAX_BYTES = 8 * 1024 * 1024
const TAIL_BYTES = 64 * 1024
const NEWLINE = 0x0a
const KEY = /^[a-z_]{1,63}\/\d{4,6}-\d\d-\d\d(?:\.\d{1,6})?\.jsonl$/

export interface ArchivePlace {
  /** `day` as 2026-01-31, each line one JSON object. */
  append(table: string, day: string, lines: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** `installation` names the database, as with files of runs: two may share one place. */
export function openArchive(
  settings: FilesSettings,
  installation: () => string,
  now: () => Date,
): ArchivePlace {
  if (settings.kind === 's3') {
    const { prefix } = settings
    const under = () => (prefix === '' ? installation() : `${prefix}/${installation()}`)
    const isKey = (key: string) => KEY.test(key)
    return new S3Archive(new S3Keeper({ ...settings, prefix: under, isKey, now }))
  }
  if (settings.kind === 'temporary')
    throw new Error('an archive needs a directory or s3:// address that outlives the process')
  const path = resolve(settings.path)
  return new DirectoryArchive(() => join(path, installation()))
}

function keyOf(table: string, day: string, part: number): string {
  const key = `${table}/${day}${part === 1 ? '' : `.${part}`}.jsonl`
  if (!KEY.test(key)) throw new Error(`no name of an archive's file: ${key}`)
  return key
}

function bytesOf(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(''), 'utf8')
}

class DirectoryArchive implements ArchivePlace {
  readonly #root: () => string

  constructor(root: () => string) {
    this.#root = root
  }

  async append(table: string, day: string, lines: readonly string[]): Promise<void> {
    const path = join(this.#root(), keyOf(table, day, 1))
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const file = await open(path, 'a+', 0o600)
    try {
      await dropHalfLine(file)
      await file.appendFile(bytesOf(lines))
      await file.sync()
    } finally {
      await file.close()
    }
    await flush(dirname(path))
  }

  async close(): Promise<void> {}
}

/** What a dying process began to write was not removed yet: it comes again, whole. */
async function dropHalfLine(file: FileHandle): Promise<void> {
  const { size } = await file.stat()
  let end = size
  while (end > 0) {
    const from = Math.max(0, end - TAIL_BYTES)
    const tail = Buffer.alloc(end - from)
    await file.read(tail, 0, tail.length, from)
    const last = tail.lastIndexOf(NEWLINE)
    end = last >= 0 ? from + last + 1 : from
    if (last >= 0) break
  }
  if (end < size) await file.truncate(end)
}

class S3Archive implements ArchivePlace {
  readonly #keeper: Pick<S3Keeper, 'put' | 'open' | 'close'>
  /** The part that each day stands at; found by asking when it is not known. */
  readonly #parts = new Map<string, number>()

  constructor(keeper: Pick<S3Keeper, 'put' | 'open' | 'close'>) {
    this.#keeper = keeper
  }

  async append(table: string, day: string, lines: readonly string[]): Promise<void> {
    const name = `${table}/${day}`
    let part = this.#parts.get(name) ?? 1
    let before = await this.#read(keyOf(table, day, part))
    while (before.length >= PART_MAX_BYTES) {
      part++
      before = await this.#read(keyOf(table, day, part))
    }
    this.#parts.set(name, part)
    const whole = Buffer.concat([before, bytesOf(lines)])
    await this.#keeper.put(keyOf(table, day, part), whole, 'application/jsonl')
  }

  async #read(key: string): Promise<Buffer> {
    const kept: KeptFile | null = await this.#keeper.open(key)
    if (kept === null) return Buffer.alloc(0)
    const chunks: Buffer[] = []
    for await (const chunk of kept.stream as AsyncIterable<Buffer>) chunks.push(chunk)
    return Buffer.concat(chunks)
  }

  close(): Promise<void> {
    return this.#keeper.close()
  }
}
