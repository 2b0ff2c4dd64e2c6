// What stands for npm, npx, node, wakeful and curl in the shell of the pages: `node shim.mjs <command> <arguments>`. Packages come from
// this repository instead of the registry, a server listens on a free port and stays in the background, and whoever talks to the
// address that the pages name talks to the newest of them.
import { spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

const [command, ...args] = process.argv.slice(2)
const { DOCS_ROOT: root, DOCS_STATE: state, DOCS_CURL: curl } = process.env
const BIN = join(root, 'dist/cli/bin.js')
const QUICK = ['--liftoff-only']
const ADDRESS = join(state, 'address')
const START_MAX_MS = 50_000

const COMMANDS = { npm, npx, node: runNode, wakeful, curl: runCurl }
await COMMANDS[command](args)

async function npx([name, ...rest]) {
  if (name !== 'wakeful') refuse(`npx ${name}: no page may need it`)
  await wakeful(rest)
}

async function wakeful(given) {
  if (given[0] === 'serve') return serve([BIN, ...given])
  const env = { ...process.env }
  // The pages name no address: the default is theirs.
  if (!env.WAKEFUL_URL) env.WAKEFUL_URL = address()
  finish(spawnSync(process.execPath, [...QUICK, BIN, ...given], { stdio: 'inherit', env }))
}

async function runNode(given) {
  const serves = existsSync(given[0]) && /\.listen\(/.test(readFileSync(given[0], 'utf8'))
  if (serves) return serve(given)
  finish(spawnSync(process.execPath, [...QUICK, ...given], { stdio: 'inherit' }))
}

function runCurl(given) {
  const asked = given.map((each) =>
    each.replace(/(?:http:\/\/)?(?:localhost|127\.0\.0\.1):8787/, address()),
  )
  finish(spawnSync(curl, ['--fail-with-body', '-sS', ...asked], { stdio: 'inherit' }))
}

async function npm([what, ...rest]) {
  if (what === 'install') return install(rest.filter((each) => !each.startsWith('-')))
  // In a clone; the packed file is `wakeful` to install() below.
  if (what === 'pack') return
  const name = what === 'run' ? rest[0] : what
  const here = existsSync('package.json')
  const { scripts } = JSON.parse(
    readFileSync(here ? 'package.json' : join(root, 'package.json'), 'utf8'),
  )
  const script = scripts[name]
  if (script === undefined) refuse(`npm ${what}: there is no such script`)
  // In a clone: those are how the tests themselves are run.
  if (!here) return
  const [program, ...words] = script.split(' ')
  if (program !== 'node') refuse(`npm ${what}: begins with ${program}`)
  if (name === 'start') return serve(words)
  finish(
    spawnSync(process.execPath, words, {
      stdio: 'inherit',
      env: { ...process.env, NODE_TEST_CONTEXT: '' },
    }),
  )
}

/** Links instead of downloads: whatever a page names must be here, in the version that is tested. */
function install(names) {
  const { dependencies = {}, devDependencies = {} } = existsSync('package.json')
    ? JSON.parse(readFileSync('package.json', 'utf8'))
    : {}
  const wanted = names.length > 0 ? names : Object.keys({ ...dependencies, ...devDependencies })
  for (const each of wanted) {
    const name = /\/wakeful-[^/]+\.tgz$/.test(each) ? 'wakeful' : each.replace(/(?<=.)@.*/, '')
    const version = each.slice(name.length + 1)
    const { [name]: tested } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    ).devDependencies
    if (name !== 'wakeful' && version !== '' && version !== tested)
      refuse(`npm install ${each}: the tests use ${tested}`)
    const from = name === 'wakeful' ? root : join(root, 'node_modules', name)
    if (!existsSync(from)) refuse(`npm install ${name}: not among the packages of this repository`)
    const link = join('node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    if (!existsSync(link)) symlinkSync(from, link)
  }
}

async function serve(words) {
  const log = join(state, `server-${process.pid}.log`)
  const out = openSync(log, 'a')
  const hasDoor = (process.env.WAKEFUL_SERVICES ?? 'all').match(/all|http/)
  const env = { ...process.env, PORT: '0', LOG_LEVEL: 'info' }
  const child = spawn(process.execPath, [...QUICK, ...words], {
    env,
    detached: true,
    stdio: ['ignore', out, out],
  })
  appendFileSync(join(state, 'pids'), `${child.pid}\n`)
  child.once('exit', (code) =>
    refuse(`the server ended with ${code}: ${readFileSync(log, 'utf8')}`),
  )
  for (let waited = 0; waited < START_MAX_MS; waited += 50) {
    const said = readFileSync(log, 'utf8')
    const url = /(?:^|listening on )(http:\/\/\S+)$/m.exec(said)?.[1]
    if (url !== undefined && hasDoor && (await isReady(url))) {
      writeFileSync(ADDRESS, url)
      process.stdout.write(`${url}\n`)
      process.exit(0)
    }
    if (!hasDoor && /"msg":"ready"/.test(said)) process.exit(0)
    await new Promise((done) => setTimeout(done, 50))
  }
  refuse(`no server came up: ${readFileSync(log, 'utf8')}`)
}

async function isReady(url) {
  const answer = await fetch(`${url}/readyz`).catch(() => null)
  return answer?.ok === true
}

function address() {
  return readFileSync(ADDRESS, 'utf8')
}

function finish({ status, error }) {
  if (error !== undefined) throw error
  process.exit(status ?? 1)
}

function refuse(why) {
  process.stderr.write(`${why}\n`)
  process.exit(1)
}
