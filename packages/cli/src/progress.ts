/** Waits for a run to end, and shows on a terminal how far it is. */
import type { Item } from './table.ts'
import { cells, cut, plain } from './text.ts'

/** Longer than a run may take, waiting for those before it included. */
export const WAIT_MAX_SECONDS = 3_600
const LOOK_MS = 250
const LOOK_MAX_MS = 2_000
const BAR_CELLS = 24

export interface Follow {
  readonly read: () => Promise<Item>
  /** Null: wait in silence. */
  readonly terminal: { columns?: number; write(text: string): unknown } | null
  readonly secondsMax: number
  readonly pause?: (ms: number) => Promise<unknown>
}

export async function followOutput(options: Follow): Promise<Item> {
  const { read, terminal, secondsMax } = options
  const pause = options.pause ?? ((ms: number) => new Promise((done) => setTimeout(done, ms)))
  let waited = 0
  for (let look = LOOK_MS; ; look = Math.min(look * 1.2, LOOK_MAX_MS)) {
    const output = await read()
    const ended = output.status === 'completed' || output.status === 'failed'
    terminal?.write(ended ? CLEAR : `${CLEAR}${progressLine(output, terminal.columns || 80)}`)
    if (ended) return output
    if (waited >= secondsMax * 1000)
      throw new Error(`run ${output.run_number} has not ended within ${secondsMax} s; it goes on`)
    await pause(look)
    waited += look
  }
}

/** Back to the first cell, and nothing behind it. */
const CLEAR = '\r\u001B[K'

/** `[██████░░░░░░] 50 %  reading the news`; without a known share, the status in words. */
export function progressLine(output: Item, columns: number): string {
  const share =
    typeof output.progress === 'number' ? Math.min(1, Math.max(0, output.progress)) : null
  const note = plain(String(output.progress_note ?? ''))
  const head =
    share === null
      ? `run ${output.run_number} ${output.status}`
      : `[${'█'.repeat(Math.round(share * BAR_CELLS)).padEnd(BAR_CELLS, '░')}] ${Math.round(share * 100)} %`
  const room = columns - 1 - cells(head) - 2
  return note === '' || room < 4 ? cut(head, columns - 1) : `${head}  ${cut(note, room)}`
}
