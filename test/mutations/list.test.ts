/** The list of promises broken on purpose can still be applied: whoever changes a line that it breaks changes it here, too. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../../src/root.ts'
import mutations from './list.json' with { type: 'json' }

it.each(mutations)('"$name" stands once in $file', ({ file, find }) => {
  expect(readFileSync(join(ROOT, file), 'utf8').split(find)).toHaveLength(2)
})
