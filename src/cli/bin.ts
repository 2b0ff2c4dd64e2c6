#!/usr/bin/env node
/** The command line. Exit codes: 0 done, 1 it went wrong, 2 it was asked wrongly. */
import { Command, CommanderError } from 'commander'
import { ConfigError } from '../config.ts'
import { errorText } from '../core/errors.ts'
import { VERSION } from '../main.ts'
import { migrateCommand } from './migrate.ts'
import { previewCommand } from './preview.ts'
import { serve } from './serve.ts'
import { tailCommand } from './tail.ts'

const program = new Command('wakeful')
  .description('Lets AI agents act on their own in time')
  .version(VERSION)
  .exitOverride()
  .configureOutput({ outputError: (text, write) => write(text) })

program
  .command('serve')
  .description('start the server (settings come from the environment)')
  .action(serve)
program
  .command('mcp')
  .description('serve the tools over standard input and output (Model Context Protocol)')
  .action(async () => (await import('./mcp.ts')).mcp())
program.addCommand(migrateCommand())
program.addCommand(previewCommand())
program.addCommand(tailCommand())

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  else {
    process.stderr.write(`wakeful: ${errorText(error)}\n`)
    process.exitCode = error instanceof ConfigError ? 2 : 1
  }
}
