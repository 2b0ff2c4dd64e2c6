/** The public surface changes only on purpose: `UPDATE_GOLDEN=1 npx vitest run test/golden` writes it, and the diff shows what changed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../../src/root.ts'
import { surface } from './surface.ts'

it('contract: the public surface is the one that is kept here', async () => {
  for (const [name, text] of Object.entries(await surface())) {
    const path = join(ROOT, 'test/golden', name)
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(path, text)
    expect(text, name).toBe(readFileSync(path, 'utf8'))
  }
})
