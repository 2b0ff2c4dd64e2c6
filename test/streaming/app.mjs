// The app of the streaming process test: an answer of many words, which the first attempt never ends.
import { appendFileSync } from 'node:fs'
import { agent } from '../../dist/index.js'

const WORDS = Array.from({ length: 200 }, (_, nth) => `${nth} `)

export default {
  agents: {
    writer: agent(async (turn) => {
      appendFileSync(process.env.WITNESS, `${process.pid}\n`)
      async function* words() {
        for (const [nth, word] of WORDS.entries()) {
          yield turn.attempt === 1 ? `draft ${word}` : word
          await new Promise((done) => setTimeout(done, 2))
          if (turn.attempt === 1 && nth === 20) await new Promise(() => undefined)
        }
      }
      await turn.say(words())
    }),
  },
}
