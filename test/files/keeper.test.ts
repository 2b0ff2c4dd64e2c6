/** One suite for both keepers: what goes in comes out, whole, and nothing beside it can be reached. */
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wallClock } from '../../src/clock.ts'
import { newId } from '../../src/core/ids.ts'
import { fileKey, workPrefix } from '../../src/features/work/file.ts'
import type { FileKeeper } from '../../src/files/keeper.ts'
import { openFiles } from '../../src/files/open.ts'
import { fileSweep } from '../../src/files/sweep.ts'
import { type FakeS3, fakeS3, KEYS } from './fake-s3.ts'

const TYPE = 'text/plain; charset=utf-8'
const now = () => new Date()

async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

async function keyed(
  files: FileKeeper,
  bucket: number,
  workId: string,
  runNumber: number,
  text: string,
) {
  const key = fileKey({ bucket, workId, runNumber })
  await files.put(key, Buffer.from(text), TYPE)
  return key
}

async function read(files: FileKeeper, key: string): Promise<string | null> {
  const found = await files.open(key)
  return found === null ? null : textOf(found.stream)
}

async function all(files: FileKeeper, limit: number): Promise<string[]> {
  const keys: string[] = []
  for (let after: string | null = null; ; ) {
    const page = await files.list(after, limit)
    keys.push(...page.files.map((file) => file.key))
    if (page.next === null) return keys
    after = page.next
  }
}

let directory: string
let s3: FakeS3
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wakeful-test-files-'))
  s3 = await fakeS3('my.bucket')
})
afterAll(async () => {
  await rm(directory, { recursive: true })
  await s3.stop()
})

const s3Files = (installation: string, more: { secretAccessKey?: string } = {}) =>
  openFiles(
    {
      kind: 's3',
      endpoint: s3.endpoint,
      region: 'eu-central-1',
      bucket: 'my.bucket',
      prefix: 'pre/fix',
      credentials: { ...KEYS, ...more },
    },
    () => installation,
    now,
  )

describe.each(['directory', 's3'])('files in %s', (kind) => {
  const opened: FileKeeper[] = []
  const open = (installation = newId()): FileKeeper => {
    const files =
      kind === 's3'
        ? s3Files(installation)
        : openFiles({ kind: 'directory', path: directory }, () => installation, now)
    opened.push(files)
    return files
  }
  afterAll(() => Promise.all(opened.map((files) => files.close())))

  it('gives back what was put, with its size, and null for what is not there', async () => {
    const files = open()
    const key = fileKey({ bucket: 7, workId: newId(), runNumber: 3 })
    expect(await files.open(key)).toBeNull()
    const bytes = Buffer.from('héllo\0\xff'.repeat(1000))
    await files.put(key, bytes, TYPE)
    const found = await files.open(key)
    expect(found?.size).toBe(bytes.length)
    expect(found && (await textOf(found.stream))).toBe(bytes.toString())
    await files.put(fileKey({ bucket: 7, workId: newId(), runNumber: 1 }), Buffer.alloc(0), TYPE)
  })

  it('two attempts at one run never share a file: a zombie cannot overwrite what was committed', async () => {
    const files = open()
    const workId = newId()
    const committed = await keyed(files, 1, workId, 1, 'committed')
    const zombie = await keyed(files, 1, workId, 1, 'zombie')
    expect(zombie).not.toBe(committed)
    expect(await read(files, committed)).toBe('committed')
  })

  it('removes one work with all its runs and leaves the others', async () => {
    const files = open()
    const [gone, stays] = [newId(), newId()]
    const keys = [await keyed(files, 5, gone, 1, 'a'), await keyed(files, 5, gone, 2, 'b')]
    const kept = await keyed(files, 5, stays, 1, 'c')
    await files.removeUnder(workPrefix(5, gone))
    await files.removeUnder(workPrefix(5, gone))
    expect(await Promise.all(keys.map((key) => read(files, key)))).toEqual([null, null])
    expect(await read(files, kept)).toBe('c')
    await files.remove([kept, kept])
    expect(await read(files, kept)).toBeNull()
  })

  it('lists everything once, page by page, and only of its own installation', async () => {
    const files = open()
    const other = open()
    await keyed(other, 1, newId(), 1, 'x')
    const keys: string[] = []
    for (let n = 0; n < 12; n++) keys.push(await keyed(files, n * 80, newId(), n + 1, `${n}`))
    expect((await all(files, 5)).sort()).toEqual(keys.sort())
    expect(await all(other, 5)).toHaveLength(1)
    expect(await all(open(), 5)).toEqual([])
  })

  it.each([
    '../../etc/passwd',
    '1/../../x',
    '/etc/passwd',
    '',
    `1/${newId()}/..`,
    `1/${newId()}/1-${newId()}/../../../x`,
    `1/${newId()}/1-${newId()}\0`,
    `1/${newId()}/.${newId()}/../x`,
  ])('refuses %j, which is no key of ours', async (key) => {
    const files = open()
    await expect(files.put(key, Buffer.from('x'), TYPE)).rejects.toThrow('not a file key')
    await expect(files.open(key)).rejects.toThrow('not a file key')
    await expect(files.remove([key])).rejects.toThrow('not a file key')
    await expect(files.removeUnder(key)).rejects.toThrow('a prefix made by workPrefix')
  })

  it('stops when the run is over', async () => {
    const files = open()
    const key = fileKey({ bucket: 1, workId: newId(), runNumber: 1 })
    const gone = AbortSignal.abort(new Error('the run is over'))
    await expect(files.put(key, Buffer.from('x'), TYPE, gone)).rejects.toThrow('the run is over')
    expect(await all(files, 10)).toEqual([])
  })

  it('the sweep removes what no row names once it is a day old, and nothing else', async () => {
    const files = open()
    const kept = await keyed(files, 1, newId(), 1, 'named by a row')
    const orphan = await keyed(files, 2, newId(), 1, 'its run died')
    const asked: string[][] = []
    let at = wallClock()
    const sweep = fileSweep({
      files,
      known: async (keys) => {
        asked.push([...keys])
        return new Set([kept])
      },
      now: () => new Date(at),
    })
    expect(await sweep()).toBe(0)
    expect(asked).toEqual([])
    at += 25 * 3_600_000
    expect(await sweep()).toBe(1)
    expect(asked[0]?.sort()).toEqual([kept, orphan].sort())
    expect(await all(files, 10)).toEqual([kept])
    // It rests after a whole round.
    expect(await sweep()).toBe(0)
    expect(asked).toHaveLength(1)
  })
})

describe('a directory', () => {
  it('leaves no half of a file under its name, and lets the sweep find what a dying process left', async () => {
    const root = newId()
    const files = openFiles({ kind: 'directory', path: directory }, () => root, now)
    const key = await keyed(files, 1, newId(), 1, 'whole')
    const folder = join(directory, root, ...key.split('/').slice(0, 2))
    expect(await readdir(folder)).toHaveLength(1)
    const half = join(folder, `.${newId()}`)
    await writeFile(half, 'half')
    await utimes(half, new Date('2020-01-01'), new Date('2020-01-01'))
    await writeFile(join(folder, 'not-ours.txt'), 'x')
    const sweep = fileSweep({ files, known: async () => new Set(), now })
    expect(await sweep()).toBe(1)
    expect((await readdir(folder)).sort()).toEqual([key.split('/')[2], 'not-ours.txt'].sort())
    await files.close()
  })

  it('that is temporary is gone with its keeper', async () => {
    const files = openFiles({ kind: 'temporary' }, () => 'unused', now)
    const key = await keyed(files, 1, newId(), 1, 'x')
    const folders = (await readdir(tmpdir())).filter((name) => name.startsWith('wakeful-files-'))
    const ours = folders.filter((name) => existsSync(join(tmpdir(), name, key)))
    expect(ours).toHaveLength(1)
    await files.close()
    expect(existsSync(join(tmpdir(), ours[0] ?? ''))).toBe(false)
  })
})

describe('S3', () => {
  it('keeps everything under its prefix and installation, with the type', async () => {
    const files = s3Files('house')
    const key = await keyed(files, 1, newId(), 1, 'x')
    expect(s3.objects.get(`pre/fix/house/${key}`)?.type).toBe(TYPE)
    await files.close()
  })

  it('tries again when the store is busy, and gives up saying what it said', async () => {
    const files = s3Files(newId())
    s3.failures.push(503, 500)
    const key = await keyed(files, 1, newId(), 1, 'late')
    expect(await read(files, key)).toBe('late')
    s3.failures.push(503, 503, 503)
    await expect(files.open(key)).rejects.toThrow('the file store answered 503')
    expect(s3.failures).toEqual([])
    await files.close()
  })

  it('a wrong secret is refused at once, and its text is in no error', async () => {
    const files = s3Files(newId(), { secretAccessKey: 'hunter2' })
    const before = s3.requests.length
    const key = fileKey({ bucket: 1, workId: newId(), runNumber: 1 })
    const error = await files.put(key, Buffer.from('x'), TYPE).catch((reason: Error) => reason)
    expect(String(error)).toContain('answered 403 (SignatureDoesNotMatch: no)')
    expect(String(error)).not.toContain('hunter2')
    expect(s3.requests.length - before).toBe(1)
    await files.close()
  })

  it('says that the store is away', async () => {
    const files = openFiles(
      {
        kind: 's3',
        endpoint: 'http://127.0.0.1:9',
        region: 'eu-central-1',
        bucket: 'b',
        prefix: '',
        credentials: KEYS,
      },
      () => 'house',
      now,
    )
    const key = fileKey({ bucket: 1, workId: newId(), runNumber: 1 })
    await expect(files.open(key)).rejects.toThrow('could not be reached')
    await files.close()
  })
})
