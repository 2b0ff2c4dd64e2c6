/**
 * All that a PGlite in memory is: its memory, and its files, which are arrays of this process. Kept once and put back as often as
 * wanted, it is the same database to the byte, with its plans, in a fraction of the time in which it empties its tables.
 */
import type { PGlite } from '@electric-sql/pglite'

/** As Emscripten keeps a file or directory. */
interface Node {
  readonly name: string
  readonly parent: Node
  contents: Uint8Array | Record<string, Node>
  usedBytes: number
  mtime: number
}
interface Files {
  readonly root: Node
  readonly streams: (Stream | null)[]
  hashAddNode(node: Node): void
  hashRemoveNode(node: Node): void
}
interface Stream {
  position: number
}
interface Machine {
  readonly HEAPU8: Uint8Array
  readonly FS: Files
}

/** No file was ever written then, so whatever has another mark was. */
const UNTOUCHED = 0

export class Memory {
  readonly #machine: Machine
  readonly #heap: Uint8Array
  readonly #files: { readonly node: Node; readonly bytes: Uint8Array }[] = []
  readonly #directories: { readonly node: Node; readonly entries: Record<string, Node> }[] = []
  readonly #streams: { readonly stream: Stream | null; readonly position: number }[]

  /** As it is now; nothing may be under way. */
  constructor(lite: PGlite) {
    this.#machine = (lite as unknown as { mod: Machine }).mod
    const { HEAPU8, FS } = this.#machine
    this.#heap = HEAPU8.slice(0, lastUsed(HEAPU8))
    this.#streams = FS.streams.map((stream) => ({ stream, position: stream?.position ?? 0 }))
    this.#keep(FS.root)
  }

  #keep(node: Node): void {
    if (node.contents instanceof Uint8Array) {
      this.#files.push({ node, bytes: node.contents.slice(0, node.usedBytes) })
      node.mtime = UNTOUCHED
    } else if (isDirectory(node)) {
      this.#directories.push({ node, entries: { ...node.contents } })
      for (const child of Object.values(node.contents)) this.#keep(child)
    }
  }

  /** As it was. */
  restore(): void {
    const { HEAPU8, FS } = this.#machine
    HEAPU8.set(this.#heap)
    for (const { node, entries } of this.#directories) this.#same(node, entries)
    for (const { node, bytes } of this.#files) if (node.mtime !== UNTOUCHED) rewrite(node, bytes)
    FS.streams.length = this.#streams.length
    for (const [n, { stream, position }] of this.#streams.entries()) {
      FS.streams[n] = stream
      if (stream !== null) stream.position = position
    }
  }

  #same(directory: Node, entries: Record<string, Node>): void {
    const { FS } = this.#machine
    const now = directory.contents as Record<string, Node>
    for (const [name, node] of Object.entries(now))
      if (entries[name] !== node) {
        FS.hashRemoveNode(node)
        delete now[name]
      }
    for (const [name, node] of Object.entries(entries))
      if (now[name] !== node) {
        now[name] = node
        FS.hashAddNode(node)
      }
  }
}

function isDirectory(node: Node): node is Node & { contents: Record<string, Node> } {
  const { contents } = node
  return typeof contents === 'object' && contents !== null && !ArrayBuffer.isView(contents)
}

function rewrite(node: Node, bytes: Uint8Array): void {
  const room = node.contents as Uint8Array
  if (room.length < bytes.length) node.contents = bytes.slice()
  else {
    room.set(bytes)
    room.fill(0, bytes.length)
  }
  node.usedBytes = bytes.length
  node.mtime = UNTOUCHED
}

/** What lies above was never asked for. */
function lastUsed(heap: Uint8Array): number {
  const words = new BigUint64Array(heap.buffer, 0, heap.byteLength >> 3)
  let last = words.length
  while (last > 0 && words[last - 1] === 0n) last--
  return last << 3
}
