/** This browser as a link: it shows what agents say, also while no page is open. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { refresh } from '../api/changes.ts'
import { request } from '../api/http.ts'
import { useCapabilities } from '../forms/choices.ts'
import { TextField } from '../forms/fields.tsx'
import { Button } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { WEB_PUSH } from './shapes.ts'

export function NotifyHere({ user }: { user: string }) {
  const client = useQueryClient()
  const { agents } = useCapabilities()
  const [session, setSession] = useState(user === '' ? '' : `${user}:${agents[0] ?? 'agent'}:main`)
  const subscribe = useMutation({
    mutationFn: () => subscribed(session),
    onSuccess: () => refresh(client, ['links']),
  })
  const able = 'serviceWorker' in navigator && 'PushManager' in window
  return (
    <details className="rounded-md border border-line px-3 py-2">
      <summary className="mb-2 cursor-pointer font-medium">Notify me in this browser</summary>
      {able ? (
        <div className="flex flex-col gap-3">
          <TextField
            id="push-session"
            label="Session"
            value={session}
            onChange={setSession}
            placeholder="ann:companion:main"
            hint="Whose messages; on a phone, add this page to the home screen first."
          />
          {subscribe.error !== null && (
            <Trouble error={subscribe.error} onRetry={() => subscribe.reset()} />
          )}
          <Button disabled={subscribe.isPending} onClick={() => subscribe.mutate()}>
            Allow notifications
          </Button>
        </div>
      ) : (
        <p className="text-sm text-muted">
          This browser takes no notifications here: they need https, or localhost.
        </p>
      )}
    </details>
  )
}

async function subscribed(session_key: string): Promise<void> {
  const { public_key } = await request<{ public_key: string }>('v1/web-push/key')
  const worker = await navigator.serviceWorker.register('sw.js')
  await navigator.serviceWorker.ready
  const subscription = await worker.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: public_key,
  })
  const address = JSON.stringify(subscription.toJSON())
  await request('v1/links', {
    method: 'POST',
    body: { channel: WEB_PUSH, session_key, address },
  })
}
