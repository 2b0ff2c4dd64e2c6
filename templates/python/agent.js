/** The agent in Python as a process beside this one, known to Wakeful by its address and a secret that both have. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const ID = 'echo'
const SCRIPT = fileURLToPath(new URL('agent.py', import.meta.url))

/** Starts it on a free port, with more variables if given. Answers when it listens. */
export async function startAgent(env = {}) {
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const child = spawn(process.env.PYTHON ?? 'python3', [SCRIPT, '0'], {
    env: { ...process.env, AGENT_SECRET: secret, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise((done, fail) => {
    child.once('error', fail)
    child.once('exit', (code) => fail(new Error(`${SCRIPT} ended with ${code}`)))
    createInterface(child.stdout).once('line', (line) => done(`${line.split(' ').at(-1)}/`))
  })
  return { url, secret, stop: () => child.kill() }
}

/** Tells Wakeful where it is now; a name that is known keeps its conversations. */
export async function introduce(wakeful, { url, secret }) {
  const { data } = await wakeful.call('list_agents')
  const known = data.some(({ id }) => id === ID)
  if (known) await wakeful.call('update_agent', { agent_id: ID, url, secret })
  else await wakeful.call('register_agent', { id: ID, url, secret })
}
