/** `wakeful serve --watch`: runs the same command under Node's watch mode, which restarts it after a change. */
import { spawn } from 'node:child_process'
import { EXIT } from './exit.ts'

/** Runs until the child ends, and exits with its code. */
export function watched(): Promise<void> {
  const [, bin = '', ...args] = process.argv
  const again = args.filter((each) => each !== '--watch')
  const options = [...process.execArgv, '--watch', '--watch-preserve-output', '--no-warnings']
  const child = spawn(process.execPath, [...options, bin, ...again], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((_, fail) => {
    child.once('error', fail)
    child.once('exit', (code) => process.exit(code ?? EXIT.wrong))
  })
}
