/** Keys without a mouse: ⌘K searches, `n` makes something new, `g` and a letter goes to a page, `/` to the page's search. */
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { PAGES } from './pages.ts'

const WAIT_MS = 2_000

interface Shortcuts {
  readonly onSearch: () => void
  readonly onNew: () => void
}

/** True while `g` was pressed and the letter is awaited: the letters are shown then. */
export function useShortcuts({ onSearch, onNew }: Shortcuts): boolean {
  const [, go] = useLocation()
  const [awaiting, setAwaiting] = useState(false)
  useEffect(() => {
    if (!awaiting) return
    const giveUp = setTimeout(() => setAwaiting(false), WAIT_MS)
    return () => clearTimeout(giveUp)
  }, [awaiting])
  useEffect(() => {
    const actionOf = (key: string): (() => void) | undefined => {
      if (key === 'n') return onNew
      if (key === 'g') return () => setAwaiting(true)
      const search = document.querySelector<HTMLElement>('main [type=search]')
      return key === '/' && search !== null ? () => search.focus() : undefined
    }
    const onKey = (event: KeyboardEvent) => {
      const { key, target, altKey } = event
      const command = event.ctrlKey || event.metaKey
      const isOpen = document.querySelector('dialog[open]') !== null
      if (command && key === 'k') {
        event.preventDefault()
        if (!isOpen) onSearch()
      } else if (command && key === 'n') {
        event.preventDefault()
        if (!isOpen) onNew()
      } else if (!command && !altKey && !isOpen && !isTyping(target)) {
        const page = awaiting ? PAGES.find(({ letter }) => letter === key) : undefined
        const action = awaiting ? () => page !== undefined && go(page.href) : actionOf(key)
        if (awaiting) setAwaiting(false)
        if (action === undefined) return
        event.preventDefault()
        action()
      }
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [awaiting, go, onSearch, onNew])
  return awaiting
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement && target.type === 'checkbox') return false
  return target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName)
}
