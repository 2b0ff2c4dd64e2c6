/** Aligned columns that fit the width of a terminal. Pure. */
import { type Colour, cells, cut, type Paint, plain } from './text.ts'

export type Item = Readonly<Record<string, unknown>>

export interface Column {
  readonly title: string
  readonly text: (item: Item, now: number) => string
  readonly colour?: (item: Item) => Colour | null
  /** May be cut where the line is too long. */
  readonly flexible?: boolean
}

const GAP = '  '
const FLEXIBLE_MIN = 8
const WIDTH_MIN = 3

/** `width` null: as wide as it needs, for pipes and files. */
export function tableText(
  columns: readonly Column[],
  items: readonly Item[],
  screen: { readonly width: number | null; readonly paint: Paint; readonly now: number },
): string {
  const rows = items.map((item) => columns.map(({ text }) => plain(text(item, screen.now))))
  const widths = columns.map(({ title }, at) =>
    Math.max(cells(title), ...rows.map((row) => cells(row[at] ?? ''))),
  )
  if (screen.width !== null) shrink(columns, widths, screen.width)
  const line = (texts: readonly string[], colours: readonly (Colour | null)[]) =>
    texts
      .map((text, at) => {
        const shown = cut(text, widths[at] ?? 0)
        const last = at === texts.length - 1
        const pad = last ? '' : ' '.repeat(Math.max(0, (widths[at] ?? 0) - cells(shown)))
        return `${screen.paint(colours[at] ?? null, shown)}${pad}`
      })
      .join(GAP)
      .trimEnd()
  const head = line(
    columns.map(({ title }) => title),
    columns.map(() => 'bold'),
  )
  const body = items.map((item, at) =>
    line(
      rows[at] ?? [],
      columns.map(({ colour }) => colour?.(item) ?? null),
    ),
  )
  return [head, ...body].map((each) => `${each}\n`).join('')
}

/** Takes from the widest of the flexible columns until the line fits; then from all but the first, which names the row. */
function shrink(columns: readonly Column[], widths: number[], max: number): void {
  const flexible = columns.flatMap((column, at) => (column.flexible ? [at] : []))
  const others = columns.map((_, at) => at).slice(1)
  const total = () => widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length)
  for (const [able, min] of [
    [flexible, FLEXIBLE_MIN],
    [others, WIDTH_MIN],
  ] as const) {
    while (total() > max) {
      const left = able.filter((at) => (widths[at] ?? 0) > min)
      const [widest] = left.sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))
      if (widest === undefined) break
      widths[widest] = (widths[widest] ?? 0) - 1
    }
  }
}
