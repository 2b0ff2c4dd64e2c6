/**
 * What stages close after each test, and after each file. Test files of one process share their modules, so a stage is
 * loaded once and a hook of vitest's at its top would be there for the first file alone: stages register here.
 */
type Work = () => unknown

const tests: Work[] = []
const files: Work[] = []

export function afterEachTest(work: Work): void {
  tests.unshift(work)
}

export function afterEachFile(work: Work): void {
  files.unshift(work)
}

export async function endTest(): Promise<void> {
  for (const work of tests) await work()
}

export async function endFile(): Promise<void> {
  for (const work of files) await work()
}

let exit = process.exit

/** vitest puts the real `process.exit` back after a file, while the guard of ours stays for as long as its module does. */
export function keepExit(): void {
  exit = process.exit
}

export function guardExitAgain(): void {
  process.exit = exit
}
