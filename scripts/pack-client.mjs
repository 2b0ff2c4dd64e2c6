// Makes packages/client/dist, so that the client can be published alone: its bundle, and the declarations that its own ones name.
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const [from, to] = [join(root, 'dist'), join(root, 'packages/client/dist')]
rmSync(to, { recursive: true, force: true })
mkdirSync(to, { recursive: true })
copyFileSync(join(from, 'client.js'), join(to, 'index.js'))

const copied = new Set()
function copy(file) {
  if (copied.has(file)) return
  copied.add(file)
  cpSync(file, join(to, relative(from, file)))
  for (const [, path] of readFileSync(file, 'utf8').matchAll(/['"](\.{1,2}\/[^'"]+)\.[jt]s['"]/g))
    copy(join(dirname(file), `${path}.d.ts`))
}
copy(join(from, 'types/packages/client/src/index.d.ts'))
