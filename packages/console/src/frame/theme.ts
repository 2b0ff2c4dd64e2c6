/** Light or dark: as the system says, unless the reader chose. */

export type Theme = 'system' | 'light' | 'dark'
export const THEMES: readonly Theme[] = ['system', 'light', 'dark']
const PLACE = 'wakeful.theme'

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(PLACE)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(PLACE)
  else localStorage.setItem(PLACE, theme)
  applyTheme(theme)
}

/** Called before the first drawing, so that a dark page does not flash light. */
export function applyTheme(theme = chosenTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
