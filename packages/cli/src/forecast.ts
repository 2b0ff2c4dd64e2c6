/** `wakeful forecast --days 14`: what the next days would bring, day by day. Nothing happens by it. */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { formatLocal } from '../../schedule/src/index.ts'
import { UsageError } from './exit.ts'
import { type Screen, screen } from './screen.ts'
import { type ServerFlags, serverOf, withServer } from './server.ts'
import { plain } from './text.ts'

interface Flags extends ServerFlags {
  readonly days: string
  readonly user?: string
  readonly draft?: string
  readonly facts?: string
  readonly run?: boolean
}

/** What is read of the answer. */
interface Forecast {
  readonly timezone: string
  readonly to: string
  readonly occurrences: readonly {
    readonly at: string
    readonly trigger: { readonly kind: string; readonly name: string; readonly draft: boolean }
    readonly words: string
    readonly text?: string
  }[]
  readonly by_day: readonly ({ readonly day: string } & Counts)[]
  readonly totals: Counts
  readonly cut: { readonly why: string; readonly busiest: { readonly name: string } | null } | null
  readonly notes: readonly string[]
}

interface Counts {
  readonly said: number
  readonly deferred: number
  readonly gathered: number
  readonly dropped: number
}

const FILE = '@file reads it, - from stdin'

export function forecastCommand(): Command {
  return withServer(
    new Command('forecast')
      .description('what the next days would bring, without anything happening')
      .option('--days <n>', 'how many, up to 31', '14')
      .option('--user <id>', 'whose, where the key does not say it')
      .option('--draft <json>', `what if these were added: {"alarms": […], "work": […]}; ${FILE}`)
      .option('--facts <json>', `[{"at": …, "signal": {…}}]; ${FILE}`)
      .option('--run', 'have agents run that may run in forecasts, and show what they say'),
  ).action(forecast)
}

async function forecast(flags: Flags): Promise<void> {
  if (!/^\d{1,3}$/.test(flags.days)) throw new UsageError('--days takes a whole number')
  const server = serverOf(flags)
  const answer = (await server.call('forecast', {
    days: Number(flags.days),
    user_id: flags.user ?? 'me',
    ...(flags.draft === undefined ? {} : { draft: jsonIn('--draft', flags.draft) }),
    ...(flags.facts === undefined ? {} : { facts: jsonIn('--facts', flags.facts) }),
    ...(flags.run ? { agents: 'run' } : {}),
  })) as Forecast
  const out = screen()
  if (flags.json) out.write(`${server.answered().trim()}\n`)
  else show(out, answer)
}

function jsonIn(flag: string, given: string): unknown {
  try {
    const source = given === '-' ? 0 : given.startsWith('@') ? given.slice(1) : null
    return JSON.parse(source === null ? given : readFileSync(source, 'utf8'))
  } catch (error) {
    throw new UsageError(`${flag}: takes JSON: ${(error as Error).message}`)
  }
}

function show(out: Screen, { timezone, occurrences, by_day, ...rest }: Forecast): void {
  const local = (at: string) => formatLocal(Date.parse(at), timezone)
  for (const { day, ...counts } of by_day) {
    out.write(`${out.paint('bold', day)}  ${countsText(counts)}\n`)
    for (const { at, trigger, words, text } of occurrences) {
      if (!local(at).startsWith(day)) continue
      const name = `${trigger.kind} ${JSON.stringify(trigger.name)}${trigger.draft ? ' (draft)' : ''}`
      out.write(`  ${local(at).slice(11)}  ${plain(name)}: ${plain(words)}\n`)
      if (text !== undefined) out.write(`         ${out.paint('dim', plain(text))}\n`)
    }
  }
  out.write(`${countsText(rest.totals)}, until ${local(rest.to)}\n`)
  if (rest.cut !== null) {
    const busiest = rest.cut.busiest === null ? '' : `; most often came ${rest.cut.busiest.name}`
    out.note(plain(`cut there: its most ${rest.cut.why} were reached${busiest}`))
  }
  for (const note of rest.notes) out.note(plain(note))
}

function countsText({ said, deferred, gathered, dropped }: Counts): string {
  return `${said} said, ${deferred} deferred, ${gathered} gathered, ${dropped} dropped`
}
