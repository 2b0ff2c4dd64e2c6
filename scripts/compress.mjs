// Writes each text of a folder a second and a third time, as brotli and gzip, so that nobody compresses it while it is asked for.
// `node scripts/compress.mjs <folder>`
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const TEXT = /\.(?:css|html|js|json|md|svg|txt|webmanifest)$/
/** What fits into one packet anyway is sent as it is. */
const LEAST_BYTES = 1_024

const folder = process.argv[2]
for (const name of readdirSync(folder, { recursive: true })) {
  if (!TEXT.test(name)) continue
  const bytes = readFileSync(`${folder}/${name}`)
  if (bytes.length < LEAST_BYTES) continue
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  writeFileSync(`${folder}/${name}.br`, brotliCompressSync(bytes, { params }))
  writeFileSync(`${folder}/${name}.gz`, gzipSync(bytes, { level: 9 }))
}
