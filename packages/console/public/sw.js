/** Shows what agents say while no page is open, and leads to the conversation. */
self.addEventListener('push', (event) => {
  const { id, title, body, session_key } = event.data.json()
  // The same message told twice is one notification.
  const shown = { body, tag: id, data: { session_key }, icon: 'favicon.svg' }
  event.waitUntil(self.registration.showNotification(title, shown))
})

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  const { session_key } = event.notification.data
  event.waitUntil(self.clients.openWindow(`./#/sessions/${encodeURIComponent(session_key)}`))
})
