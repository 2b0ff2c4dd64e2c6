/** `wakeful import <file> --as <shape>`: rows of other systems' tables. Says what it would do; does it with --write. */
import { readFileSync } from 'node:fs'
import { Command, Option } from 'commander'
import { wallClock } from '../../../src/clock.ts'
import { UsageError } from './exit.ts'
import { importLanggraphCommand } from './import-langgraph.ts'
import { readRow, SHAPES, type Shape } from './import-rows.ts'
import { type TakingOver, takeOver, withTakingOver } from './take-over.ts'

const STDIN = 0

interface Flags extends TakingOver {
  readonly as?: Shape
  readonly agent?: string
}

export function importCommand(): Command {
  const command = new Command('import')
    .description('take over alarms, intents and work from rows of another system, JSON lines')
    .argument('<file>', 'one JSON object on each line; - reads standard input')
    .addOption(new Option('--as <shape>', 'what the rows are').choices(SHAPES))
    .addCommand(importLanggraphCommand())
    .action(run)
  return withTakingOver(command)
}

async function run(file: string, flags: Flags): Promise<void> {
  const { as } = flags
  if (as === undefined) throw new UsageError(`--as says what the rows are: ${SHAPES.join(', ')}`)
  const importing = { now: new Date(wallClock()), agent: flags.agent ?? null }
  await takeOver(
    linesOf(file).map(({ number, text }) => ({
      name: `line ${number}`,
      read: readRow(as, text, importing),
    })),
    flags,
  )
}

function linesOf(file: string): { number: number; text: string }[] {
  const text = readText(file)
  return text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map((line, index) => ({ number: index + 1, text: line.trim() }))
    .filter((line) => line.text !== '')
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? STDIN : file, 'utf8')
  } catch (error) {
    throw new UsageError(`the file cannot be read: ${(error as Error).message}`)
  }
}
