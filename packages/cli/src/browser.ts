/** Opens an address in this machine's browser. */
import { spawn } from 'node:child_process'
import type { Logger } from 'pino'

const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Without a browser the server keeps running. */
export function openBrowser(url: string, log: Logger): void {
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  child.once('error', (error) => log.warn({ error: error.message, url }, 'no browser was opened'))
  child.unref()
}
