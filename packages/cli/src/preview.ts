/** `wakeful preview "<phrase>"`: what a schedule means, and when it fires next. Needs no server. */
import { Command } from 'commander'
import { wallClock } from '../../../src/clock.ts'
import { WakefulError } from '../../client/src/index.ts'
import { formatLocal, isZone, next, parsePhrase, ScheduleError } from '../../schedule/src/index.ts'
import { UsageError } from './exit.ts'

export function previewCommand(): Command {
  return new Command('preview')
    .description('what a schedule means, and its next times')
    .argument('<phrase>', 'such as "every weekday at 8:30" or "0 9 * * 1"')
    .option('--timezone <zone>', 'an IANA zone', 'UTC')
    .option('--count <n>', 'how many times to show', '3')
    .option('--json', 'for programs')
    .action(preview)
}

function preview(
  phrase: string,
  options: { timezone: string; count: string; json?: boolean },
): void {
  const count = Number(options.count)
  if (!Number.isInteger(count) || count < 1 || count > 100)
    throw new UsageError('--count takes a whole number from 1 to 100')
  if (!isZone(options.timezone))
    throw new UsageError(
      `--timezone: ${options.timezone} is not an IANA zone such as Europe/Berlin`,
    )
  const now = wallClock()
  try {
    const { schedule, canonical, description, notes } = parsePhrase(phrase, {
      timezone: options.timezone,
      now,
    })
    const times = next(schedule, now, { anchor: now, count })
    if (options.json) {
      const instants = times.map((at) => new Date(at).toISOString())
      process.stdout.write(
        `${JSON.stringify({ canonical, kind: schedule.kind, description, timezone: options.timezone, next: instants, notes })}\n`,
      )
      return
    }
    process.stdout.write(`${description}\n${canonical}\n`)
    for (const note of notes) process.stdout.write(`  (${note})\n`)
    for (const at of times) process.stdout.write(`  ${formatLocal(at, options.timezone)}\n`)
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error
    throw new WakefulError(400, 'No schedule can be read from this', error.errors)
  }
}
