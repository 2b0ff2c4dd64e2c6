import { useEffect, useRef, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { useSession } from 'wakeful/react'
import './page.css'

const STATUS = {
  connecting: 'Connecting …',
  open: 'Connected',
  waiting: 'Connection lost, trying again …',
  closed: 'Disconnected',
}
const MARKS = { sending: 'Sending …', delivered: '✓ Delivered', failed: 'Not sent' }

function Message({ message }) {
  const { from, text, state, unasked, error } = message
  return (
    <li className={`message ${from} ${state}`}>
      {unasked && <span className="unasked">Reminder</span>}
      <p>{text}</p>
      {from === 'user' && <small>{error ?? MARKS[state]}</small>}
    </li>
  )
}

function Chat({ sessionKey }) {
  const session = useSession({ url: `${location.origin}/wakeful`, sessionKey })
  const { messages, typing, questions, status, send, answer } = session
  const [text, setText] = useState('')
  const end = useRef(null)
  const length = messages.map((message) => message.text).join('').length
  useEffect(() => end.current?.scrollIntoView({ block: 'end' }), [length, typing])
  const isWriting = messages.some(({ state }) => state === 'streaming')
  const submit = (event) => {
    event.preventDefault()
    send(text)
    setText('')
  }
  return (
    <main>
      <header>
        <h1>Baker’s helper</h1>
        <span className={`status ${status}`} role="status">
          {STATUS[status]}
        </span>
      </header>
      <ol className="messages" aria-live="polite">
        {messages.length === 0 && (
          <li className="hint">
            Ask how to bake bread, say “order flour”, or “remind me” and wait two seconds.
          </li>
        )}
        {messages.map((message) => (
          <Message key={message.id} message={message} />
        ))}
        {typing && !isWriting && (
          <li className="message agent typing">
            <span className="hidden">The helper is typing</span>
            <i />
            <i />
            <i />
          </li>
        )}
        {questions.map(({ id, options }) => (
          <li key={id} className="options">
            {options.map((option) => (
              <button key={option} type="button" onClick={() => answer(id, option)}>
                {option}
              </button>
            ))}
          </li>
        ))}
        <li ref={end} className="end" />
      </ol>
      <form onSubmit={submit}>
        <input
          value={text}
          onChange={(event) => setText(event.target.value)}
          placeholder="Message"
          aria-label="Message"
        />
        <button type="submit" disabled={text.trim() === ''}>
          Send
        </button>
      </form>
    </main>
  )
}

const sessionKey = new URLSearchParams(location.search).get('session') ?? 'ann:helper:main'
createRoot(document.getElementById('root')).render(<Chat sessionKey={sessionKey} />)
