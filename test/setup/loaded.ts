/** What a module loads when it runs, by its import lines: imports of types are gone by then, and lazy ones come later. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

export function loaded(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen
  seen.add(path)
  for (const [, from = ''] of readFileSync(path, 'utf8').matchAll(
    /^(?:import|export)\s+(?!type\b)(?:[^;'"]*?\sfrom\s+)?'([^']+)'/gm,
  )) {
    const target = from.startsWith('.') ? resolve(dirname(path), from) : from
    if (existsSync(target)) loaded(target, seen)
    else seen.add(target)
  }
  return seen
}
