// Everything up to publishing: `npm run release -- minor`, or a whole version. Writes the version and the changelog, builds, packs,
// installs the package into an empty folder, tries it there, breaks things on purpose (the short list of `npm run faults`), and writes
// notes with what was seen and the last benchmark into .cache/release. With --dry-run the version and the changelog are put back
// as they were.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const OUT = '.cache/release'
const PACKAGES_MAX = 5
const INSTALLED_MAX_MB = 45
/** Of all processors together: what a start costs, whatever else the machine does meanwhile. */
const START_MAX_CPU_MS = 4_000
const BENCHMARK = 'bench/results/latest.md'
const MANIFESTS = ['package.json', 'package-lock.json']
const CHANGELOG = 'CHANGELOG.md'
const UNRELEASED = '## Unreleased\n'

const dryRun = process.argv.includes('--dry-run')
const wanted = process.argv.slice(2).find((each) => !each.startsWith('-')) ?? 'minor'
const run = (command, args, options = {}) =>
  execFileSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  })

if (!dryRun && run('git', ['status', '--porcelain']) !== '')
  fail('commit or put aside what is not committed')

const before = new Map([...MANIFESTS, CHANGELOG].map((file) => [file, readFileSync(file, 'utf8')]))
const version = nextVersion(JSON.parse(before.get('package.json')).version, wanted)
try {
  const changes = writeVersion()
  console.log(`version   ${version}`)
  run('node', ['scripts/prepare.mjs', 'build'])
  rmSync(OUT, { recursive: true, force: true })
  mkdirSync(OUT, { recursive: true })
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', OUT]))
  const tarball = join(process.cwd(), OUT, packed.filename)
  console.log(`packed    ${tarball}, ${megabytes(packed.size)} MB, ${packed.entryCount} files`)
  const seen = await tryOut(tarball)
  for (const line of figures(seen)) console.log(line)
  judge(seen)
  const faults = tryFaults()
  console.log(`faults    ${faults.at(-1)}`)
  writeFileSync(`${OUT}/notes.md`, notes(changes, seen, faults))
  console.log(`notes     ${OUT}/notes.md`)
  if (!dryRun)
    console.log(
      `\nleft to do:\n  git commit -am 'Release ${version}' && git tag v${version}\n  npm publish ${tarball}`,
    )
} finally {
  if (dryRun) for (const [file, text] of before) writeFileSync(file, text)
}

function nextVersion(current, step) {
  if (/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(step)) return step
  const [major, minor, patch] = current.split('.').map(Number)
  if (step === 'major') return `${major + 1}.0.0`
  if (step === 'minor') return `${major}.${minor + 1}.0`
  if (step === 'patch') return `${major}.${minor}.${patch + 1}`
  return fail(`got "${step}", takes major, minor, patch or a version`)
}

/** Answers with what has changed since the last one. */
function writeVersion() {
  const [, ...after] = before.get(CHANGELOG).split(UNRELEASED)
  const changes = after.join(UNRELEASED).split(/^## /m)[0].trim()
  if (changes === '') fail(`${CHANGELOG} tells of nothing under "${UNRELEASED.trim()}"`)
  const today = run('date', ['-u', '+%Y-%m-%d']).trim()
  writeFileSync(
    CHANGELOG,
    before.get(CHANGELOG).replace(UNRELEASED, `${UNRELEASED}\n## ${version}, ${today}\n`),
  )
  for (const file of MANIFESTS) {
    const manifest = JSON.parse(before.get(file))
    manifest.version = version
    if (manifest.packages?.[''] !== undefined) manifest.packages[''].version = version
    writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
  }
  return changes
}

/** In an empty folder, with npm and nothing else. */
async function tryOut(tarball) {
  const home = mkdtempSync(join(tmpdir(), 'wakeful-release-'))
  try {
    writeFileSync(join(home, 'package.json'), '{"private":true}')
    const install = ['install', '--no-audit', '--no-fund', '--loglevel=warn', tarball]
    const { stderr: said, status } = spawnSync('npm', install, { cwd: home, encoding: 'utf8' })
    if (status !== 0) fail(`it cannot be installed: ${said}`)
    const lock = JSON.parse(readFileSync(join(home, 'package-lock.json'), 'utf8'))
    const packages = Object.keys(lock.packages).filter(
      (name) => name !== '' && !lock.packages[name].peer,
    )
    const first = await start(home)
    const again = await start(home)
    return {
      said: aboutPackages(said),
      packages,
      bytes: bytesIn(join(home, 'node_modules')),
      first,
      again,
    }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** What npm says of its own settings on this machine is not of the package. */
function aboutPackages(said) {
  const lines = said.split('\n')
  return lines.filter((line) => !/^npm warn Unknown \w+ config /i.test(line)).join('\n')
}

/** Starts it on the embedded store, has the demo agent answer, and stops it. */
async function start(home) {
  const began = performance.now()
  const bin = join(home, 'node_modules/wakeful/dist/cli/bin.js')
  const child = spawn(process.execPath, [bin, 'serve'], {
    cwd: home,
    env: { PATH: process.env.PATH, PORT: '0', LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  const ended = new Promise((done) => child.once('close', done))
  const url = await new Promise((done, refuse) => {
    ended.then(() => refuse(new Error(`it did not start: ${errors}`)))
    createInterface(child.stdout).on('line', (line) => {
      if (line.startsWith('listening on ')) done(line.split(' ').at(-1))
    })
  })
  const ask = async (path, body) => {
    const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    return fetch(`${url}${path}`, body === undefined ? {} : post)
  }
  while (!(await ask('/readyz')).ok) await new Promise((done) => setTimeout(done, 10))
  const ms = Math.round(performance.now() - began)
  const cpuMs = cpuTime(child.pid)
  await ask('/v1/sessions/me:companion:first/messages', '{"text":"hello"}')
  for (let said = []; said.length === 0; )
    said = (await (await ask('/v1/sessions/me:companion:first/effects')).json()).data
  const peakMb = peakMemory(child.pid)
  child.kill('SIGTERM')
  const code = await ended
  if (code !== 0) fail(`it ended with ${code}: ${errors}`)
  return { ms, cpuMs, peakMb, errors }
}

/** Told by Linux alone. */
function peakMemory(pid) {
  const file = `/proc/${pid}/status`
  const status = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
}

/** Told by Linux alone, in hundredths of a second behind the name, which may hold spaces. */
function cpuTime(pid) {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return 0
  const fields = readFileSync(file, 'utf8').split(') ').at(-1).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Real processes and a real PostgreSQL; a fault that does not hold ends the release. */
function tryFaults() {
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--import', 'tsx', 'test/faults/run.script.ts', '--short'],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  )
  if (status !== 0) fail(stdout)
  return stdout.trim().split('\n')
}

function judge({ packages, bytes, first, again, said }) {
  if (packages.length > PACKAGES_MAX) fail(`${packages.length} packages, at most ${PACKAGES_MAX}`)
  if (megabytes(bytes) > INSTALLED_MAX_MB)
    fail(`${megabytes(bytes)} MB installed, at most ${INSTALLED_MAX_MB}`)
  if (first.cpuMs > START_MAX_CPU_MS)
    fail(`a first start takes ${first.cpuMs} ms of the processors, at most ${START_MAX_CPU_MS}`)
  for (const text of [said, first.errors, again.errors])
    if (/warn/i.test(text)) fail(`it warns: ${text}`)
}

function figures({ packages, bytes, first, again }) {
  const start = ({ ms, cpuMs, peakMb }) => `${ms} ms (${cpuMs} of the processors, ${peakMb} MB)`
  return [
    `installed ${packages.length} packages, ${megabytes(bytes)} MB, Node ${process.version}`,
    `started   ready in ${start(first)}, again in ${start(again)}; load ${loadavg()[0].toFixed(1)}`,
  ]
}

function notes(changes, seen, faults) {
  const lines = figures(seen).map((line) => `- ${line.replace(/\s+/g, ' ')}`)
  return `# Wakeful ${version}

${changes}

## Measured on the packed tarball

${lines.join('\n')}

## Faults

\`\`\`text
${faults.join('\n')}
\`\`\`

${benchmark()}
`
}

/** As it was last run, on a quiet machine; the commit says on what. */
function benchmark() {
  const text = readFileSync(BENCHMARK, 'utf8')
    .replaceAll(/^#/gm, '##')
    .replaceAll(/^!\[.*\n?/gm, '')
  const commit = run('git', ['log', '-1', '--format=%h of %cs', '--', BENCHMARK]).trim()
  return `${text.trim()}\n\nOf commit ${commit}.`
}

function bytesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
}

function megabytes(bytes) {
  return Math.round(bytes / 1e5) / 10
}

function fail(why) {
  throw new Error(why)
}
