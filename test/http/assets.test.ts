/** The console and the docs: compressed once, when they are built, and kept by browsers where their names hold a hash. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { door } from './door.ts'

const folder = mkdtempSync(join(tmpdir(), 'assets-'))
const TEXT = 'export const a = "words";\n'.repeat(100)
mkdirSync(join(folder, 'assets'))
for (const name of ['index.html', 'root.html', 'assets/a-Bc12.js', 'small.js'])
  writeFileSync(join(folder, name), name === 'small.js' ? 'a' : TEXT)
execFileSync('node', ['scripts/compress.mjs', folder])
const app = door({ console: folder, docs: folder })
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

const ask = (url: string, encoding: string) =>
  app.inject({ url, headers: { 'accept-encoding': encoding } })

test.each(['/', '/assets/a-Bc12.js', '/docs', '/docs/index.html'])('%s', async (url) => {
  const brotli = await ask(url, 'gzip, deflate, br')
  expect(brotli.headers).toMatchObject({ 'content-encoding': 'br', vary: 'accept-encoding' })
  expect(brotliDecompressSync(brotli.rawPayload).toString()).toBe(TEXT)
  const gzip = await ask(url, 'gzip;q=1.0, br;q=0')
  expect(gzip.headers['content-encoding']).toBe('gzip')
  expect(gunzipSync(gzip.rawPayload).toString()).toBe(TEXT)
  const plain = await ask(url, 'identity')
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(plain.body).toBe(TEXT)
  for (const answer of [brotli, gzip, plain])
    expect(answer.headers).toMatchObject({
      'content-type': expect.stringMatching(/html|javascript/),
      'x-content-type-options': 'nosniff',
    })
})

test('names with a hash are kept for a year, others are asked for again', async () => {
  const kept = async (url: string) => (await ask(url, 'br')).headers['cache-control']
  expect(await kept('/assets/a-Bc12.js')).toBe('public, max-age=31536000, immutable')
  expect(await kept('/')).toBe('no-cache')
  expect(await kept('/small.js')).toBe('no-cache')
  expect((await ask('/small.js', 'br')).body).toBe('a')
  expect((await ask('/assets/a-Bc12.js.br', 'br')).statusCode).toBe(404)
  expect((await ask('/docs/index.html.br', 'br')).statusCode).toBe(404)
})
