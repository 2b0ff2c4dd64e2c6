import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Problem } from './api/http.ts'
import { App } from './app.tsx'
import { applyTheme } from './frame/theme.ts'
import './style.css'

const RETRIES = 2

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // What the server refused it will refuse again.
      retry: (count, error) =>
        count < RETRIES && !(error instanceof Problem && error.status > 0 && error.status < 500),
      staleTime: 1_000,
      refetchOnWindowFocus: 'always',
      // Asked even when the browser believes itself offline: the server is often on this machine.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

applyTheme()
const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
)
