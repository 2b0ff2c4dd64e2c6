#!/usr/bin/env node
/**
 * The command line. Each command is one line here; only the one that is asked for is loaded, so that help and short
 * questions are answered at once. How commands end: see `exit.ts`.
 */
import * as nodeModule from 'node:module'
import { Command, CommanderError, Option } from 'commander'

import { VERSION } from '../../../src/version.ts'
import { EXIT, errorLines, exitCode } from './exit.ts'
import { resourceCommands } from './resource.ts'
import { plain } from './text.ts'

type Load = () => Promise<Command | null>

/** In the order of the help. A command that loads as null is not there. */
const COMMANDS: Readonly<Record<string, readonly [about: string, load: Load]>> = {
  serve: ['start the server', async () => (await import('./serve.ts')).serveCommand()],
  init: ['write a small app to begin with', async () => (await import('./init.ts')).initCommand()],
  mcp: [
    'serve the tools over standard input and output (Model Context Protocol)',
    async () => {
      const { mcp } = await import('./mcp.ts')
      const tools = new Option('--tools <set>', 'which tools are shown')
      return new Command('mcp')
        .addOption(tools.choices(['default', 'all']).default('default'))
        .action(mcp)
    },
  ],
  keys: ['make, list and revoke keys', async () => (await import('./keys.ts')).keysCommand()],
  migrate: [
    'bring the database schema up, down, or show it',
    async () => (await import('./migrate.ts')).migrateCommand(),
  ],
  shards: [
    'where the rows of people are, and moving them',
    async () => (await import('./shards.ts')).shardsCommand(),
  ],
  doctor: [
    'examine the installation, and say what to do',
    async () => (await import('./doctor.ts')).doctorCommand(),
  ],
  tail: [
    'watch what fires, and what came of it',
    async () => (await import('./tail.ts')).tailCommand(),
  ],
  forecast: [
    'what the next days would bring, without anything happening',
    async () => (await import('./forecast.ts')).forecastCommand(),
  ],
  chat: ['talk to an agent', async () => (await import('./chat.ts')).chatCommand()],
  import: [
    'take over alarms, intents and work from rows of another system',
    async () => (await import('./import.ts')).importCommand(),
  ],
  preview: [
    'what a schedule means, and its next times',
    async () => (await import('./preview.ts')).previewCommand(),
  ],
}

async function programFor(args: readonly string[]): Promise<Command> {
  const asked = args.find((arg) => arg in COMMANDS)
  const program = new Command('wakeful')
    .description('Durable reminders, follow-ups and watches for AI agents')
    .version(VERSION)
    .addHelpText('after', AFTER)
  for (const command of resourceCommands()) program.addCommand(command)
  for (const [name, [about, load]] of Object.entries(COMMANDS)) {
    const command = name === asked ? await load() : new Command(name).description(about)
    if (command !== null) program.addCommand(command)
  }
  return tame(program)
}

const AFTER = `
Commands about alarms, intents, work and sessions talk to a running server (--url, WAKEFUL_URL).
Exit codes: 0 success, 1 failure, 2 usage error, 3 not found, 4 refused, 5 server unreachable.`

/** Errors come to us instead of ending the process half-way; on every level, since commands do not inherit it. */
function tame(command: Command): Command {
  command.exitOverride().showHelpAfterError('(--help shows what there is)')
  for (const each of command.commands) tame(each)
  return command
}

/** A reader of our output may stop reading (`| head`): that is no error. */
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok)
    throw error
  })

// Newer Nodes keep what they compiled: what is loaded from here on starts sooner the next time.
const { enableCompileCache } = nodeModule as { enableCompileCache?: () => void }
enableCompileCache?.()

try {
  await (await programFor(process.argv.slice(2))).parseAsync()
} catch (error) {
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage
  else {
    process.stderr.write(
      `wakeful: ${errorLines(error)
        .map((line) => plain(line, 'lines'))
        .join('\n')}\n`,
    )
    process.exitCode = exitCode(error)
  }
}
