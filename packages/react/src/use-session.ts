/** One session of Wakeful in a React component. */
import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import { NOTHING, type SessionOptions, type SessionState, SessionStore } from './session-store.ts'

export interface Session extends SessionState {
  /** Shown at once as `sending`, and sent as soon as the server is there. */
  readonly send: (text: string) => void
  /** Answers an open question with one of its options. */
  readonly answer: (questionId: string, option: string) => void
}

/** Connected while the component is there. Another `url`, `sessionKey` or `key` is another session. */
export function useSession(options: SessionOptions): Session {
  const { url, sessionKey, key, history } = options
  // A ticket function that is made with every render is no other session.
  const ticket = useRef(options.ticket)
  useEffect(() => {
    ticket.current = options.ticket
  }, [options.ticket])
  const hasTicket = options.ticket !== undefined
  const store = useMemo(() => {
    const asking = () => ticket.current?.() ?? Promise.reject(new Error('there is no ticket'))
    return new SessionStore({
      url,
      sessionKey,
      ...(key === undefined ? {} : { key }),
      ...(history === undefined ? {} : { history }),
      ...(hasTicket ? { ticket: asking } : {}),
    })
  }, [url, sessionKey, key, history, hasTicket])
  useEffect(() => store.open(), [store])
  const state = useSyncExternalStore(
    store.subscribe,
    () => store.state,
    () => NOTHING,
  )
  return { ...state, send: store.send, answer: store.answer }
}
