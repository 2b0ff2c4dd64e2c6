/** The ratios as one picture: a bar for each, a whisker for its range, a mark where the goal stands. */
import { digits, type Figure, ratioOf, reached } from './figures.ts'

const WIDTH = 860
const LEFT = 330
const RIGHT = 70
const ROW = 30
const TOP = 64
const SCALE_MAX = 2

const COLOURS = { met: '#2a9d8f', missed: '#e76f51', none: '#8d99ae' }

export function plot(figures: readonly Figure[], title: string): string {
  const bars = figures.filter((figure) => figure.beside !== undefined)
  const height = TOP + bars.length * ROW + 34
  const x = (ratio: number) =>
    LEFT + (Math.min(ratio, SCALE_MAX) / SCALE_MAX) * (WIDTH - LEFT - RIGHT)
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    text(16, 26, title, 'font-size="16" font-weight="600"'),
    text(16, 46, 'Ratios in one run. A black mark is the goal, a thin line the range.', GREY),
    ...[0, 0.5, 1, 1.5, 2].flatMap((tick) => [
      `<line x1="${x(tick)}" x2="${x(tick)}" y1="${TOP - 6}" y2="${height - 28}" stroke="${tick === 1 ? '#333' : '#ddd'}"/>`,
      text(x(tick), height - 12, `${tick} ×`, `text-anchor="middle" ${GREY}`),
    ]),
    ...bars.flatMap((figure, row) => bar(figure, TOP + row * ROW, x)),
    '</svg>',
  ]
  return `${parts.join('\n')}\n`
}

const GREY = 'fill="#666"'

function bar(figure: Figure, y: number, x: (ratio: number) => number): string[] {
  const ratio = ratioOf(figure)
  if (ratio === null) return []
  const state = reached(figure)
  const colour = state === null ? COLOURS.none : state ? COLOURS.met : COLOURS.missed
  const middle = y + 9
  const goal = figure.goal?.least
  return [
    text(LEFT - 10, y + 14, `${figure.measure}: ${figure.name}`, 'text-anchor="end"'),
    `<rect x="${x(0)}" y="${y}" width="${Math.max(1, x(ratio.median) - x(0))}" height="18" fill="${colour}"/>`,
    `<line x1="${x(ratio.least)}" x2="${x(ratio.most)}" y1="${middle}" y2="${middle}" stroke="#222"/>`,
    ...(goal === undefined
      ? []
      : [`<rect x="${x(goal) - 1}" y="${y - 3}" width="3" height="24" fill="#000"/>`]),
    text(Math.max(x(ratio.median), x(ratio.most)) + 8, y + 14, `${digits(ratio.median)} ×`),
  ]
}

function text(x: number, y: number, words: string, more = ''): string {
  const safe = words.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)
  return `<text x="${x}" y="${y}" ${more}>${safe}</text>`
}

export interface Line {
  readonly name: string
  readonly values: readonly number[]
}

const STRIP = 84

/** What was measured over time, one strip for each, each from zero to its own most. */
export function lines(title: string, all: readonly Line[], minutes: number): string {
  const height = TOP + all.length * STRIP + 20
  const right = WIDTH - RIGHT
  const parts = all.flatMap(({ name, values }, row) => {
    const most = Math.max(...values.filter(Number.isFinite))
    const bottom = TOP + (row + 1) * STRIP - 24
    const points = values.map((value, at) => {
      const along = LEFT + (at / Math.max(1, values.length - 1)) * (right - LEFT)
      return `${along.toFixed(1)},${(bottom - (value / most) * (STRIP - 34)).toFixed(1)}`
    })
    return [
      text(LEFT - 10, bottom - 18, name, 'text-anchor="end"'),
      `<line x1="${LEFT}" x2="${right}" y1="${bottom}" y2="${bottom}" stroke="#ddd"/>`,
      `<polyline fill="none" stroke="${COLOURS.met}" stroke-width="1.5" points="${points.join(' ')}"/>`,
      text(right + 8, bottom - (STRIP - 38), digits(most), GREY),
    ]
  })
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    text(16, 26, title, 'font-size="16" font-weight="600"'),
    text(
      16,
      46,
      `From minute 0 to ${minutes}; each strip from zero to the number beside it.`,
      GREY,
    ),
    ...parts,
    '</svg>',
  ].join('\n')}\n`
}
