/** The directory of a database that was prepared when we were built, as a tar: what a first start begins with. Null without one. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliDecompress, createBrotliDecompress } from 'node:zlib'
import { ROOT } from '../root.ts'

const PREPARED = `${ROOT}dist/prepared.tar.br`
const PART_BYTES = 1 << 20
const decompressed = promisify(brotliDecompress)

/** One after the other: all of it at once is more than a small server has to spare. */
export async function preparedParts(): Promise<AsyncIterable<Buffer> | null> {
  if (!existsSync(PREPARED)) return null
  const parts = createBrotliDecompress({ chunkSize: PART_BYTES })
  parts.end(await readFile(PREPARED))
  return parts
}

/** In memory of its own. */
export async function preparedDirectory(): Promise<Uint8Array<ArrayBuffer> | null> {
  return existsSync(PREPARED) ? new Uint8Array(await decompressed(await readFile(PREPARED))) : null
}

export async function preparedBlob(): Promise<Blob | null> {
  const directory = await preparedDirectory()
  return directory === null ? null : new Blob([directory])
}
