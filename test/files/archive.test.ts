/** The archive: lines are added, whole and in order, in a directory and at an S3 address. */
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openArchive, PART_MAX_BYTES } from '../../src/files/archive.ts'
import { fakeS3, KEYS } from './fake-s3.ts'

const now = () => new Date('2026-01-01T00:00:00Z')

it('adds lines to one file for each table and day, and drops what was cut off', async () => {
  const root = await mkdtemp(join(tmpdir(), 'wakeful-archive-'))
  const archive = openArchive({ kind: 'directory', path: root }, () => 'one', now)
  await archive.append('events', '2026-01-01', ['{"n":1}', '{"n":2}'])
  const path = join(root, 'one', 'events', '2026-01-01.jsonl')
  // As a process leaves it that dies while it writes, with a line longer than is read at once.
  await appendFile(path, `{"n":3,"text":"${'x'.repeat(200_000)}`)
  await archive.append('events', '2026-01-01', ['{"n":3}'])
  expect(await readFile(path, 'utf8')).toBe('{"n":1}\n{"n":2}\n{"n":3}\n')
  await expect(archive.append('../events', '2026-01-01', ['{}'])).rejects.toThrow('no name')
  await archive.close()
  await rm(root, { recursive: true })
})

it('adds to an object at an S3 address, and goes on in another when it is large', async () => {
  const s3 = await fakeS3('cellar')
  const place = {
    kind: 's3',
    endpoint: s3.endpoint,
    region: 'eu-central-1',
    bucket: 'cellar',
    prefix: 'old',
    credentials: KEYS,
  } as const
  const archive = openArchive(place, () => 'one', now)
  const long = JSON.stringify('x'.repeat(PART_MAX_BYTES))
  await archive.append('turns', '2026-01-01', ['{"n":1}'])
  await archive.append('turns', '2026-01-01', [long])
  await archive.append('turns', '2026-01-01', ['{"n":2}'])
  await archive.close()
  // Another process finds where the day stands.
  const again = openArchive(place, () => 'one', now)
  await again.append('turns', '2026-01-01', ['{"n":3}'])
  await again.close()
  const text = (name: string) => s3.objects.get(`old/one/turns/${name}`)?.bytes.toString()
  expect(text('2026-01-01.jsonl')).toBe(`{"n":1}\n${long}\n`)
  expect(text('2026-01-01.2.jsonl')).toBe('{"n":2}\n{"n":3}\n')
  await s3.stop()
})
