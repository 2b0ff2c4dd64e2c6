/**
 * The interpreter for the examples in Python, or nothing: theirs are the only tests that are skipped where it is missing.
 * What stands on the path may be a script that looks for it each time.
 */
import { spawnSync } from 'node:child_process'

const { status, stdout } = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
})

export const PYTHON = status === 0 ? stdout.trim() : ''
