/** Opens a URL in the default browser of this machine. */
import { spawn } from 'node:child_process'
import type { Logger } from 'pino'

const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** A missing browser is logged; the server keeps running. */
export function openBrowser(url: string, log: Logger): void {
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  child.once('error', (error) => log.warn({ error: error.message, url }, 'no browser was opened'))
  child.unref()
}
