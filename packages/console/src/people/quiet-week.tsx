/** Quiet hours drawn on the days of a week, with where the person is now. */
import { useNow } from '../parts/clock.ts'
import { type QuietWindow, WEEKDAYS } from './shapes.ts'
import { DAY_MINUTES, stretchesOf, wallOf } from './stretches.ts'
import { daysWords, nameOf } from './words.ts'

const ROW = 10
const BAR = 7
const MINUTE = 60_000
const HOURS = [0, 6, 12, 18, 24]

export function QuietWeek({ windows, zone }: { windows: readonly QuietWindow[]; zone: string }) {
  const now = wallOf(useNow(MINUTE), zone)
  const stretches = stretchesOf(windows)
  const words = windows.map(({ days, from, to }) => `${from} to ${to} ${daysWords(days)}`)
  return (
    <figure>
      <div className="flex gap-2">
        <div aria-hidden="true" className="w-9 shrink-0 text-xs text-muted">
          {WEEKDAYS.map((day) => (
            <div key={day} className={`h-6 leading-6 ${day === now.day ? 'font-bold' : ''}`}>
              {nameOf(day)}
            </div>
          ))}
        </div>
        <svg
          role="img"
          aria-label={`Quiet hours of the week: ${words.length === 0 ? 'none' : words.join('; ')}`}
          viewBox={`0 0 ${DAY_MINUTES} ${WEEKDAYS.length * ROW}`}
          preserveAspectRatio="none"
          className="h-42 min-w-0 flex-1"
        >
          {WEEKDAYS.map((day, index) => (
            <g key={day} transform={`translate(0 ${index * ROW + (ROW - BAR) / 2})`}>
              <rect width={DAY_MINUTES} height={BAR} className="fill-sunk" />
              {stretches[day].map(({ from, to }) => (
                <rect
                  key={`${from}-${to}`}
                  x={from}
                  width={to - from}
                  height={BAR}
                  className="fill-accent"
                />
              ))}
            </g>
          ))}
          {HOURS.slice(1, -1).map((hour) => (
            <line
              key={hour}
              x1={hour * 60}
              x2={hour * 60}
              y1={0}
              y2={WEEKDAYS.length * ROW}
              className="stroke-edge"
              strokeDasharray="2 3"
              vectorEffect="non-scaling-stroke"
            />
          ))}
          <line
            x1={now.minute}
            x2={now.minute}
            y1={WEEKDAYS.indexOf(now.day) * ROW}
            y2={(WEEKDAYS.indexOf(now.day) + 1) * ROW}
            className="stroke-own-mark"
            strokeWidth="3"
            vectorEffect="non-scaling-stroke"
          />
        </svg>
      </div>
      <div aria-hidden="true" className="relative mt-1 ml-11 h-4 text-xs text-muted tabular-nums">
        {HOURS.map((hour) => (
          <span
            key={hour}
            className="absolute"
            // Beneath its line, but the outer two within the drawing.
            style={{
              left: `${(hour / 24) * 100}%`,
              translate: hour === 0 ? '0' : hour === 24 ? '-100%' : '-50%',
            }}
          >
            {String(hour).padStart(2, '0')}:00
          </span>
        ))}
      </div>
      <figcaption className="mt-2 ml-11 flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
        <span className="flex items-center gap-1.5">
          <span aria-hidden="true" className="inline-block h-2 w-4 bg-accent" /> quiet
        </span>
        <span className="flex items-center gap-1.5">
          <span aria-hidden="true" className="inline-block h-3 w-0.75 bg-own-mark" /> now, in {zone}
        </span>
      </figcaption>
    </figure>
  )
}
