/** The current instant as state: a component that uses it is drawn again at each tick. */
import { useEffect, useReducer, useState } from 'react'
import { serverNow } from '../api/http.ts'

/** Of the moment of drawing, not of the last tick: else something new would seem to be a second further away than it is. */
export function useNow(everyMs = 1_000): number {
  const [, drawAgain] = useReducer((ticks: number) => ticks + 1, 0)
  useEffect(() => {
    const ticking = setInterval(drawAgain, everyMs)
    return () => clearInterval(ticking)
  }, [everyMs])
  return serverNow()
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
