// A chat page on wakeful/react, and the agent behind it: one Node server, with Wakeful below /wakeful.
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { agent, wakeful } from 'wakeful'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))

// In the place of a model: words, one after the other. A real one is the same: `turn.say(result.textStream)`.
async function* written(text) {
  for (const word of text.split(/(?<= )/)) {
    yield word
    await new Promise((done) => setTimeout(done, 60))
  }
}

const helper = agent(async (turn) => {
  if (turn.answer !== null) {
    const { answer } = turn.answer
    turn.say(answer === 'Yes' ? 'Ordered: 25 kg of flour, here on Thursday.' : 'Then I leave it.')
  } else if (turn.event.type === 'alarm') {
    turn.say('The bread has been in for long enough: take it out.')
  } else if (turn.event.type === 'user_message') {
    const { text } = turn.event.payload
    if (/remind|timer/i.test(text)) {
      turn.schedule('bread', { in: '2 seconds', note: 'take the bread out' })
      await turn.say(written('I will tell you in two seconds.'))
    } else if (/flour/i.test(text)) {
      turn.ask('Flour is low. Shall I order 25 kg?', { options: ['Yes', 'No'] })
    } else {
      await turn.say(
        written(
          'A sourdough wants time more than work: feed the starter in the evening, mix flour, water and salt in the morning, fold it four times, and bake it when it has grown by half.',
        ),
      )
    }
  }
})

const app = await wakeful({
  basePath: '/wakeful',
  agents: { helper },
  env: { WAKEFUL_LEASE_MS: '2000', ...process.env },
})
await app.start()

const { outputFiles } = await build({
  entryPoints: [here('page.jsx')],
  bundle: true,
  minify: true,
  jsx: 'automatic',
  format: 'esm',
  define: { 'process.env.NODE_ENV': '"production"' },
  outdir: '/',
  write: false,
})
const files = new Map(
  outputFiles.map(({ path, contents }) => [path.split(/[\\/]/).at(-1), contents]),
)
const TYPES = { js: 'text/javascript', css: 'text/css' }
const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Baker's helper</title>
<link rel="stylesheet" href="/page.css">
<link rel="icon" href="data:,">
<div id="root"></div>
<script type="module" src="/page.js"></script>
</html>`

const server = createServer((request, response) => {
  app.handler(request, response, () => {
    const name = request.url.slice(1)
    const file = files.get(name)
    const type = file === undefined ? 'text/html' : TYPES[name.split('.').at(-1)]
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(file ?? PAGE)
  })
})
server.on('upgrade', (request, socket, head) => {
  if (!app.upgrade(request, socket, head)) socket.destroy()
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () =>
  console.log(`listening on http://127.0.0.1:${server.address().port}`),
)
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
  app.stop()
})
