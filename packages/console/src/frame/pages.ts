/** The pages of the console: where each is, and the letter that leads there after `g`. */
import type { IconName } from '../parts/icon-paths.ts'

export interface PageEntry {
  readonly href: string
  readonly label: string
  readonly letter: string
  readonly icon: IconName
}

export const PAGES: readonly PageEntry[] = [
  { href: '/', label: 'Home', letter: 'h', icon: 'home' },
  { href: '/schedule', label: 'Schedule', letter: 's', icon: 'calendar' },
  { href: '/activity', label: 'Activity', letter: 'a', icon: 'activity' },
  { href: '/people', label: 'People', letter: 'p', icon: 'people' },
  { href: '/agents', label: 'Agents', letter: 'e', icon: 'agent' },
  { href: '/system', label: 'System', letter: 'y', icon: 'system' },
]

export function isAt(page: PageEntry, path: string): boolean {
  return page.href === '/' ? path === '/' : path === page.href || path.startsWith(`${page.href}/`)
}
