/**
 * Where files of runs are kept: a directory, or an S3-compatible address. Keys are made by `fileKey` and by
 * nobody else; a keeper refuses any other, so that no path can lead out of its place.
 */
import type { Readable } from 'node:stream'

export interface KeptFile {
  readonly size: number
  readonly stream: Readable
}

export interface ListedFile {
  readonly key: string
  readonly modifiedAt: Date
}

export interface FileKeeper {
  /** Returns when the file is there to stay, whole. */
  put(key: string, bytes: Uint8Array, mediaType: string, signal?: AbortSignal): Promise<void>
  /** Null without such a file. */
  open(key: string, signal?: AbortSignal): Promise<KeptFile | null>
  /** What is not there counts as removed. */
  remove(keys: readonly string[]): Promise<void>
  /** Everything under a prefix that `workPrefix` made. */
  removeUnder(prefix: string): Promise<void>
  /** Up to about `limit` files in the order of their keys, after the given position (null: from the start). */
  list(
    after: string | null,
    limit: number,
  ): Promise<{ files: readonly ListedFile[]; next: string | null }>
  close(): Promise<void>
}
