/** Unpacks the prepared data directory: plain files and folders with short names, as PGlite writes them, and nothing else. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const BLOCK = 512
const NAME = { at: 0, length: 100 }
const SIZE = { at: 124, length: 12 }
const TYPE = { at: 156, length: 1 }
const FOLDER = '5'
const OWNER_ALONE = { file: 0o600, folder: 0o700 }

export function unpackTar(tar: Uint8Array, folder: string): void {
  const text = ({ at, length }: { at: number; length: number }, header: number) =>
    Buffer.from(tar.buffer, tar.byteOffset + header + at, length)
      .toString('latin1')
      .split('\0')[0] ?? ''
  mkdirSync(folder, { recursive: true, mode: OWNER_ALONE.folder })
  for (let header = 0; header + BLOCK <= tar.length; ) {
    const name = text(NAME, header)
    // Two empty blocks are the end.
    if (name === '') return
    const size = Number.parseInt(text(SIZE, header), 8) || 0
    const path = join(folder, name)
    const content = header + BLOCK
    if (text(TYPE, header) === FOLDER)
      mkdirSync(path, { recursive: true, mode: OWNER_ALONE.folder })
    else writeFileSync(path, tar.subarray(content, content + size), { mode: OWNER_ALONE.file })
    header = content + Math.ceil(size / BLOCK) * BLOCK
  }
}
