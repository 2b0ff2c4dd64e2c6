/**
 * Where this package lies: migrations, the console and the prepared store are found from here. The sources and the bundled
 * files lie at different depths, so it is looked for instead of counted.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(rootAbove(new URL('./', import.meta.url)))

function rootAbove(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder
  const above = new URL('../', folder)
  if (above.href === folder.href) throw new Error('no package.json above the files of Wakeful')
  return rootAbove(above)
}
