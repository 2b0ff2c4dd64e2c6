/** A session key, with the part that differs most set out. */
export function KeyParts({ sessionKey }: { sessionKey: string }) {
  const [user = '', agent = '', ...thread] = sessionKey.split(':')
  return (
    <span className="font-mono text-[0.95em] wrap-anywhere">
      <span className="font-normal text-muted">
        {user}:{agent}:
      </span>
      {thread.join(':')}
    </span>
  )
}
