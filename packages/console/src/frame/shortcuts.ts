/** Keys without a mouse: `g` and a letter goes to a page, `/` to the page's search. */
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { PAGES } from './pages.ts'

const WAIT_MS = 2_000

/** True while `g` was pressed and the letter is awaited: the letters are shown then. */
export function useShortcuts(): boolean {
  const [, go] = useLocation()
  const [awaiting, setAwaiting] = useState(false)
  useEffect(() => {
    if (!awaiting) return
    const giveUp = setTimeout(() => setAwaiting(false), WAIT_MS)
    return () => clearTimeout(giveUp)
  }, [awaiting])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (awaiting) {
        setAwaiting(false)
        const page = PAGES.find(({ letter }) => letter === event.key)
        if (page !== undefined) go(page.href)
      } else if (event.key === 'g') setAwaiting(true)
      else if (event.key === '/') {
        const search = document.querySelector<HTMLElement>('main [type=search]')
        if (search === null) return
        event.preventDefault()
        search.focus()
      }
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [awaiting, go])
  return awaiting
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName)
}
