/** The prepared directory is unpacked as it is, however its parts fall, and a cut one is refused. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { unpackTar } from '../../src/store/tar.ts'

const root = mkdtempSync(join(tmpdir(), 'wakeful-tar-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const BLOCK = 512

function entry(name: string, type: '0' | '5', content = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(BLOCK)
  header.write(name, 0, 'latin1')
  header.write(content.length.toString(8).padStart(11, '0'), 124, 'latin1')
  header.write(type, 156, 'latin1')
  return Buffer.concat([header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)])
}

async function* cut(whole: Buffer, lengths: readonly number[]) {
  for (let at = 0, n = 0; at < whole.length; n++) {
    const length = lengths[n % lengths.length] ?? BLOCK
    yield whole.subarray(at, at + length)
    at += length
  }
}

it('in parts of any length', async () => {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 3 * BLOCK }), { maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 1500 }), { minLength: 1, maxLength: 5 }),
      async (files, lengths) => {
        const folder = join(root, `any-${runs++}`)
        const parts = files.map((content, n) => entry(`in/${n}`, '0', Buffer.from(content)))
        const whole = Buffer.concat([entry('in', '5'), ...parts, Buffer.alloc(2 * BLOCK)])
        await unpackTar(cut(whole, lengths), folder)
        for (const [n, content] of files.entries())
          expect(readFileSync(join(folder, 'in', String(n)))).toEqual(Buffer.from(content))
        expect(statSync(join(folder, 'in')).mode & 0o777).toBe(0o700)
      },
    ),
    { numRuns: 60 },
  )
})

it('not where it ends too soon', async () => {
  const folder = join(root, 'short')
  mkdirSync(folder)
  const whole = entry('file', '0', Buffer.alloc(2 * BLOCK, 'x'))
  await expect(unpackTar(cut(whole.subarray(0, 2 * BLOCK), [700]), folder)).rejects.toThrow(
    'ends too soon',
  )
  await expect(unpackTar(cut(whole.subarray(0, 100), [70]), folder)).rejects.toThrow(
    'ends too soon',
  )
})
