/** `wakeful serve --watch`: the same command under Node's own watch mode, which ends it in order and starts it again. */
import { spawn } from 'node:child_process'
import { EXIT } from './exit.ts'

/** Until it is stopped, with the exit code of what it has started. */
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
