/** The next fourteen days of one person after the other, played on a copy; nothing is stored by it. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { request } from '../api/http.ts'
import type { Forecast } from './played.ts'

const DAYS = 14
/** More people would take minutes. */
export const PEOPLE_MAX = 12

export interface ForecastState {
  readonly done: number
  readonly of: number
  readonly forecasts: readonly Forecast[]
  readonly error: Error | null
  readonly isRunning: boolean
}

const NONE: ForecastState = { done: 0, of: 0, forecasts: [], error: null, isRunning: false }

/** One person at a time: the server takes one forecast of a person at once, and shares its pool. */
export function useForecasts() {
  const [state, setState] = useState(NONE)
  const running = useRef<AbortController | null>(null)
  const stop = useCallback(() => {
    running.current?.abort()
    running.current = null
    setState(NONE)
  }, [])
  useEffect(() => () => running.current?.abort(), [])
  const start = useCallback(
    async (people: readonly string[]) => {
      stop()
      const own = new AbortController()
      running.current = own
      const asked = people.slice(0, PEOPLE_MAX)
      setState({ ...NONE, of: asked.length, isRunning: asked.length > 0 })
      for (const person of asked) {
        const answer = await forecastOf(person, own.signal)
        if (own.signal.aborted) return
        setState((before) => {
          const done = before.done + 1
          const isRunning = done < asked.length
          if (answer instanceof Error) return { ...before, done, isRunning, error: answer }
          return { ...before, done, isRunning, forecasts: [...before.forecasts, answer] }
        })
      }
    },
    [stop],
  )
  return { ...state, start, stop }
}

async function forecastOf(person: string, signal: AbortSignal): Promise<Forecast | Error> {
  try {
    return await request<Forecast>(`v1/people/${encodeURIComponent(person)}/forecast`, {
      method: 'POST',
      body: { days: DAYS },
      signal,
    })
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
