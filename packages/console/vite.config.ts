/** Builds into the server's dist. Everything is a file of our own: the server's CSP allows nothing else. */
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  // Relative, so that the console also works behind a proxy that adds a prefix.
  base: './',
  plugins: [react(), tailwindcss()],
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What several pages use comes with the first: a page is then one file, and leaves the browser's few connections to its data.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 2 }] } },
    },
  },
  server: {
    proxy: {
      '/v1': { target: 'http://127.0.0.1:8787', ws: true },
      '/healthz': 'http://127.0.0.1:8787',
    },
  },
})
