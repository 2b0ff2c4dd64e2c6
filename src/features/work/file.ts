/** Files that runs of work hand back: what may be one, what it is called, where it is kept and how it is served. */
import { TerminalError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'

export const FILE_MAX_BYTES = 32 * 1024 * 1024
const NAME_CHARACTERS_MAX = 120
const FORMAT = /^[a-z0-9]{1,12}$/

/** As an executor returns it. */
export interface WorkFile {
  /** What it is called when saved; made from the title if not said. */
  readonly name?: string
  /** The ending, which also says the type: `md`, `html`, `pdf`, `csv` … */
  readonly format: string
  readonly content: string | Uint8Array
}

export interface CheckedFile {
  readonly name: string
  readonly format: string
  readonly bytes: Uint8Array
}

/** An executor's file, or the reason why it is refused. */
export function checkFile(file: WorkFile, title: string): CheckedFile {
  const { format, content } = file
  if (typeof format !== 'string' || !FORMAT.test(format))
    throw new TerminalError(
      'file.format takes an ending of 1 to 12 small letters and digits, such as "md" or "pdf"',
    )
  if (typeof content !== 'string' && !(content instanceof Uint8Array))
    throw new TerminalError('file.content takes a string or a Uint8Array')
  if (file.name !== undefined && typeof file.name !== 'string')
    throw new TerminalError('file.name takes a string')
  const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content
  if (bytes.byteLength > FILE_MAX_BYTES)
    throw new TerminalError(
      `file.content has ${bytes.byteLength} bytes, takes at most ${FILE_MAX_BYTES}`,
    )
  return { name: fileName(file.name ?? title, format), format, bytes }
}

/** One plain name with the right ending: no folders, no control or format characters, nothing hidden. */
export function fileName(wanted: string, format: string): string {
  const ending = `.${format}`
  const last = wanted.slice(0, 1000).split(/[/\\]/).at(-1) ?? ''
  // The class C holds controls, format characters and halves of surrogate pairs.
  const plain = last
    .replaceAll(/[\p{C}<>:"|?*]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/^[. ]+|[. ]+$/g, '')
  const stem = plain.toLowerCase().endsWith(ending) ? plain.slice(0, -ending.length) : plain
  const short = [...stem].slice(0, NAME_CHARACTERS_MAX).join('').trimEnd()
  return `${short === '' ? 'output' : short}${ending}`
}

export interface FileOwner {
  readonly bucket: number
  readonly workId: string
  readonly runNumber: number
}

/**
 * Where one attempt's file is kept. Fresh at each call: an attempt that lost its lease must not be able to
 * overwrite the file of the one that committed. What no row names in the end is swept.
 */
export function fileKey({ bucket, workId, runNumber }: FileOwner): string {
  return `${workPrefix(bucket, workId)}${runNumber}-${newId()}`
}

/** All files of one work are kept under this. */
export function workPrefix(bucket: number, workId: string): string {
  return `${bucket}/${workId}/`
}

const KEY =
  /^(\d{1,4})\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/(\d{1,10})-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What a key says of its owner; null for what is no key of ours, which nobody may open or delete. */
export function ownerOfKey(key: string): FileOwner | null {
  const [, bucket, workId, runNumber] = KEY.exec(key) ?? []
  if (bucket === undefined || workId === undefined) return null
  return { bucket: Number(bucket), workId, runNumber: Number(runNumber) }
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  gif: 'image/gif',
  html: 'text/html; charset=utf-8',
  ics: 'text/calendar; charset=utf-8',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown; charset=utf-8',
  pdf: 'application/pdf',
  png: 'image/png',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  webp: 'image/webp',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  zip: 'application/zip',
}

export function mediaType(format: string): string {
  return Object.hasOwn(MEDIA_TYPES, format)
    ? (MEDIA_TYPES[format] ?? 'application/octet-stream')
    : 'application/octet-stream'
}

/** Saved, never shown in place. The second name is for everybody (RFC 6266), the first for the oldest. */
export function attachment(name: string): string {
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name.replaceAll(/\p{Surrogate}/gu, '_')).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
