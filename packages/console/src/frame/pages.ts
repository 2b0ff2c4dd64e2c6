/** The pages of the console: where each is, and the letter that leads there after `g`. */

export interface PageEntry {
  readonly href: string
  readonly label: string
  readonly letter: string
}

export const PAGES: readonly PageEntry[] = [
  { href: '/', label: 'Now', letter: 'n' },
  { href: '/sessions', label: 'Sessions', letter: 's' },
  { href: '/alarms', label: 'Alarms', letter: 'a' },
  { href: '/intents', label: 'Intents', letter: 'i' },
  { href: '/work', label: 'Work', letter: 'w' },
  { href: '/why', label: 'Why', letter: 'y' },
  { href: '/trends', label: 'Trends', letter: 't' },
  { href: '/rules', label: 'Rules', letter: 'r' },
  { href: '/people', label: 'People', letter: 'p' },
  { href: '/forecast', label: 'Forecast', letter: 'e' },
  { href: '/links', label: 'Links', letter: 'l' },
  { href: '/keys', label: 'Keys', letter: 'k' },
  { href: '/health', label: 'Health', letter: 'h' },
]

export function isAt(page: PageEntry, path: string): boolean {
  return page.href === '/' ? path === '/' : path === page.href || path.startsWith(`${page.href}/`)
}
