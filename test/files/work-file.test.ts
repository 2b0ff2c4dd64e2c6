/** What may be a file, what it is called, and where it is kept: pure. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TerminalError } from '../../src/core/errors.ts'
import { newId } from '../../src/core/ids.ts'
import {
  attachment,
  checkFile,
  FILE_MAX_BYTES,
  fileKey,
  fileName,
  mediaType,
  ownerOfKey,
} from '../../src/features/work/file.ts'

describe('a file name', () => {
  it.each([
    ['Weekly report', 'md', 'Weekly report.md'],
    ['Weekly report.MD', 'md', 'Weekly report.md'],
    ['../../etc/passwd', 'txt', 'passwd.txt'],
    ['C:\\evil\\boot', 'txt', 'boot.txt'],
    ['.htaccess', 'txt', 'htaccess.txt'],
    ['a\r\nSet-Cookie: x', 'md', 'a Set-Cookie x.md'],
    ['exe\u202Efdp', 'md', 'exe fdp.md'],
    ['…', 'md', '….md'],
    ['///', 'md', 'output.md'],
    ['', 'html', 'output.html'],
    ['Überblick 日本', 'pdf', 'Überblick 日本.pdf'],
  ])('%j as %s is %j', (wanted, format, name) => {
    expect(fileName(wanted, format)).toBe(name)
  })

  it('is one plain segment whatever was wanted, and its header one line of ASCII', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (wanted) => {
        const name = fileName(wanted, 'md')
        expect(name).not.toMatch(/[/\\\p{Cc}\p{Surrogate}"]/u)
        expect(name.startsWith('.')).toBe(false)
        expect(name.endsWith('.md')).toBe(true)
        expect([...name].length).toBeLessThanOrEqual(123)
        const header = attachment(name)
        expect(header).toMatch(
          /^attachment; filename="[\x20-\x7e]*"; filename\*=UTF-8''[\w.~%!#$&+^`|-]*$/,
        )
        expect(decodeURIComponent(header.split("''")[1] ?? '')).toBe(name)
      }),
    )
  })
})

describe('a file', () => {
  it('takes text and bytes', () => {
    const text = checkFile({ format: 'md', content: 'é' }, 'A title')
    expect(text).toEqual({ name: 'A title.md', format: 'md', bytes: Buffer.from('é') })
    const bytes = new Uint8Array([1, 2])
    expect(checkFile({ name: 'x', format: 'bin', content: bytes }, '').bytes).toBe(bytes)
  })

  it.each([
    [{ format: '../x', content: '' }, 'file.format'],
    [{ format: 'MD', content: '' }, 'file.format'],
    [{ content: '' }, 'file.format'],
    [{ format: 'md' }, 'file.content'],
    [{ format: 'md', content: 7 }, 'file.content'],
    [{ format: 'md', content: '', name: 7 }, 'file.name'],
    [{ format: 'md', content: new Uint8Array(FILE_MAX_BYTES + 1) }, `at most ${FILE_MAX_BYTES}`],
  ])('refused, number %#', (file, text) => {
    expect(() => checkFile(file as never, 'title')).toThrow(TerminalError)
    expect(() => checkFile(file as never, 'title')).toThrow(text)
  })

  it('has the type its ending says, and no type of its own otherwise', () => {
    expect(mediaType('html')).toBe('text/html; charset=utf-8')
    expect(mediaType('exe')).toBe('application/octet-stream')
    expect(mediaType('constructor')).toBe('application/octet-stream')
  })

  it('has a key that tells its owner, and no other text does', () => {
    const owner = { bucket: 1023, workId: newId(), runNumber: 12 }
    expect(ownerOfKey(fileKey(owner))).toEqual(owner)
    expect(ownerOfKey(`${fileKey(owner)}\n`)).toBeNull()
    fc.assert(fc.property(fc.string(), (text) => ownerOfKey(text) === null))
  })
})
