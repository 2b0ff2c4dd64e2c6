/** Opens the file store that the settings name. */
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DirectoryKeeper } from './directory.ts'
import type { FileKeeper } from './keeper.ts'
import { type Credentials, S3Keeper } from './s3.ts'

export type FilesSettings =
  | { readonly kind: 'directory'; readonly path: string }
  /** Deleted when the process ends, like the store. */
  | { readonly kind: 'temporary' }
  | {
      readonly kind: 's3'
      readonly endpoint: string
      readonly region: string
      readonly bucket: string
      readonly prefix: string
      readonly credentials: Credentials
    }

/**
 * `installation` is the id of the database. Two installations may share a directory or a bucket, so each lists and removes
 * only keys under its own id.
 */
export function openFiles(
  settings: FilesSettings,
  installation: () => string,
  now: () => Date,
): FileKeeper {
  if (settings.kind === 's3') {
    const { prefix } = settings
    return new S3Keeper({
      ...settings,
      prefix: () => (prefix === '' ? installation() : `${prefix}/${installation()}`),
      now,
    })
  }
  if (settings.kind === 'temporary') {
    const root = join(tmpdir(), `wakeful-files-${randomUUID()}`)
    return new DirectoryKeeper({ root: () => root, temporary: true })
  }
  const path = resolve(settings.path)
  return new DirectoryKeeper({ root: () => join(path, installation()) })
}
