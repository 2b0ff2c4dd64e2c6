/** As a socket to `pg`: bytes of PostgreSQL's protocol go to an embedded database and back, one write at a time. */
import { Duplex } from 'node:stream'

/** The first byte of the message that ends a connection. */
const GOODBYE = 'X'.charCodeAt(0)

export class PgliteSocket extends Duplex {
  readonly #ask: (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>

  /** `ask` answers what was written, all of it. */
  constructor(ask: (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>) {
    super()
    this.#ask = ask
  }

  connect(): void {
    process.nextTick(() => this.emit('connect'))
  }

  setNoDelay(): void {}
  setKeepAlive(): void {}
  ref(): void {}
  unref(): void {}

  override _read(): void {}

  override _write(chunk: Buffer, _: string, written: (error?: Error | null) => void): void {
    // Closing the socket does not close the database.
    if (chunk[0] === GOODBYE) {
      written()
      return
    }
    this.#ask(new Uint8Array(chunk)).then(
      ({ buffer, byteOffset, byteLength }) => {
        this.push(Buffer.from(buffer, byteOffset, byteLength))
        written()
      },
      (error: Error) => written(error),
    )
  }

  override _writev(chunks: { chunk: Buffer }[], written: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), '', written)
  }
}
