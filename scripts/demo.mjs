/**
 * Makes docs/images/demo.svg, the moving picture of the README: `node --import tsx scripts/demo.mjs`. It talks to the demo agent of the
 * built package and draws what was said, when it was said. The agent's messages are its own; only the person's lines are written here.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import { createClient } from '../dist/client.js'
import { companion, wakeful } from '../dist/index.js'

const FILE = join(fileURLToPath(new URL('..', import.meta.url)), 'docs/images/demo.svg')
const ASKED = ['remind me in 10 seconds to stretch', 'why?']
const WIDTH = 860
const LINE_PX = 24
const TOP_PX = 72
const COLUMNS = 80
/** How long the last picture stays before it begins again. */
const PAUSE_MS = 5_000
const READING_MS = 1_500
const WAIT_MS = 30_000

const lines = await record()
writeFileSync(FILE, draw(lines))
console.log(`${FILE}: ${lines.length} lines`)

/** Each line with who said it and when, in milliseconds from the first. */
async function record() {
  const app = await wakeful({
    database: 'memory:',
    port: 0,
    agents: { companion },
    env: { LOG_LEVEL: 'silent' },
  })
  const client = createClient({ baseUrl: await app.listen(), WebSocket })
  const said = []
  const began = Date.now()
  let heard = () => {}
  const socket = client.connect('me:companion:first', {
    onMessage: ({ content }) => {
      said.push({ who: 'companion', text: content, at: Date.now() - began })
      heard()
    },
  })
  const next = () =>
    new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error('the agent says nothing')), WAIT_MS)
      heard = () => {
        clearTimeout(timer)
        done()
      }
    })
  const say = async (text) => {
    const answered = next()
    said.push({ who: 'you', text, at: Date.now() - began })
    await socket.say(text)
    await answered
  }
  await say(ASKED[0])
  await next()
  await new Promise((done) => setTimeout(done, READING_MS))
  await say(ASKED[1])
  socket.close()
  await app.stop()
  return said
}

function draw(said) {
  const [{ at: first }] = said
  const whole = said.at(-1).at - first + PAUSE_MS
  let row = 0
  const rules = []
  const texts = []
  for (const [nth, { who, text, at }] of said.entries()) {
    // One keyframe before it appears and one from then on: nothing moves in between.
    const from = Math.min(99, ((at - first + 200) / whole) * 100).toFixed(2)
    rules.push(
      `@keyframes l${nth}{0%,${from}%{opacity:0}${Number(from) + 0.5}%,100%{opacity:1}}`,
      `.l${nth}{animation:l${nth} ${whole}ms linear infinite}`,
    )
    const [head, ...more] = wrapped(text)
    const label = who === 'you' ? 'you' : 'companion'
    texts.push(
      `<g class="l${nth}"><text x="28" y="${TOP_PX + row * LINE_PX}" class="${label}">${label}</text>`,
      ...[head, ...more].map(
        (line, below) =>
          `<text x="140" y="${TOP_PX + (row + below) * LINE_PX}">${escaped(line)}</text>`,
      ),
      '</g>',
    )
    row += 1 + more.length
  }
  const height = TOP_PX + row * LINE_PX + 4
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="A chat with the demo agent">
<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#e6edf3}.you{fill:#7ee787}.companion{fill:#79c0ff}.title{fill:#8b949e}${rules.join('')}@media (prefers-reduced-motion:reduce){g{animation:none!important}}</style>
<rect width="${WIDTH}" height="${height}" rx="10" fill="#0d1117"/>
<circle cx="24" cy="22" r="6" fill="#ff5f56"/><circle cx="44" cy="22" r="6" fill="#ffbd2e"/><circle cx="64" cy="22" r="6" fill="#27c93f"/>
<text x="88" y="27" class="title">npx wakeful chat me:companion:first</text>
${texts.join('\n')}
</svg>
`
}

function wrapped(text) {
  const rows = []
  for (const part of text.split('\n')) {
    let row = ''
    for (const word of part.split(' ')) {
      if (row !== '' && row.length + word.length >= COLUMNS) {
        rows.push(row)
        row = ''
      }
      row += row === '' ? word : ` ${word}`
    }
    rows.push(row)
  }
  return rows
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
