/**
 * Unpacks the prepared data directory: plain files and folders with short names, as PGlite writes them, and nothing else. Part by part as
 * it comes, since a whole one, and its files once more, would stay in memory for long after the start.
 */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const BLOCK = 512
const NAME = { at: 0, length: 100 }
const SIZE = { at: 124, length: 12 }
const TYPE = { at: 156, length: 1 }
const FOLDER = '5'
const OWNER_ALONE = { file: 0o600, folder: 0o700 }

export async function unpackTar(parts: AsyncIterable<Buffer>, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: OWNER_ALONE.folder })
  const blocks = new Blocks(folder)
  for await (const part of parts) {
    let at = 0
    while (at < part.length) at += blocks.take(part.subarray(at))
  }
  blocks.end()
}

/** A header, then its file in whole blocks, and so on; each may come in several parts. */
class Blocks {
  readonly #folder: string
  readonly #header = Buffer.alloc(BLOCK)
  #headed = 0
  #file: number | null = null
  /** Of the file, and of what fills its last block. */
  #left = 0
  #filling = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  /** How much of it was taken. */
  take(part: Buffer): number {
    if (this.#file !== null) return this.#write(this.#file, part)
    if (this.#filling > 0) {
      const passed = Math.min(this.#filling, part.length)
      this.#filling -= passed
      return passed
    }
    const taken = part.copy(this.#header, this.#headed)
    this.#headed += taken
    if (this.#headed === BLOCK) this.#begin()
    return taken
  }

  end(): void {
    if (this.#file === null && this.#headed === 0) return
    if (this.#file !== null) closeSync(this.#file)
    throw new Error('the prepared directory ends too soon: build it again')
  }

  #write(file: number, part: Buffer): number {
    const written = writeSync(file, part, 0, Math.min(this.#left, part.length))
    this.#left -= written
    if (this.#left === 0) {
      closeSync(file)
      this.#file = null
    }
    return written
  }

  #begin(): void {
    this.#headed = 0
    const name = this.#text(NAME)
    // Two empty blocks are the end.
    if (name === '') return
    const path = join(this.#folder, name)
    this.#left = Number.parseInt(this.#text(SIZE), 8) || 0
    this.#filling = (BLOCK - (this.#left % BLOCK)) % BLOCK
    if (this.#text(TYPE) === FOLDER) {
      mkdirSync(path, { recursive: true, mode: OWNER_ALONE.folder })
      return
    }
    const file = openSync(path, 'w', OWNER_ALONE.file)
    if (this.#left === 0) closeSync(file)
    else this.#file = file
  }

  #text({ at, length }: { at: number; length: number }): string {
    return this.#header.toString('latin1', at, at + length).split('\0')[0] ?? ''
  }
}
