/** The current instant as state: a component that uses it is drawn again at each tick. */
import { useEffect, useState } from 'react'
import { serverNow } from '../api/http.ts'

export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(serverNow)
  useEffect(() => {
    const ticking = setInterval(() => setNow(serverNow()), everyMs)
    return () => clearInterval(ticking)
  }, [everyMs])
  return now
}

/** `value`, once it has not changed for `ms`. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const waiting = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(waiting)
  }, [value, ms])
  return settled
}
