// Everything up to publishing: `npm run release -- minor`, or a whole version. Writes the version and the changelog, builds, packs,
// installs the package into an empty folder, tries it there, and writes notes with what was measured into .cache/release.
// With --dry-run the version and the changelog are put back as they were.
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
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const OUT = '.cache/release'
const PACKAGES_MAX = 5
const INSTALLED_MAX_MB = 45
const START_MAX_MS = 5_000
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
  writeFileSync(`${OUT}/notes.md`, notes(changes, seen))
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
    return { said, packages, bytes: bytesIn(join(home, 'node_modules')), first, again }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
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
  await ask('/v1/sessions/me:companion:first/messages', '{"text":"hello"}')
  for (let said = []; said.length === 0; )
    said = (await (await ask('/v1/sessions/me:companion:first/effects')).json()).data
  const peakMb = peakMemory(child.pid)
  child.kill('SIGTERM')
  const code = await ended
  if (code !== 0) fail(`it ended with ${code}: ${errors}`)
  return { ms, peakMb, errors }
}

/** Told by Linux alone. */
function peakMemory(pid) {
  const file = `/proc/${pid}/status`
  const status = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
}

function judge({ packages, bytes, first, again, said }) {
  if (packages.length > PACKAGES_MAX) fail(`${packages.length} packages, at most ${PACKAGES_MAX}`)
  if (megabytes(bytes) > INSTALLED_MAX_MB)
    fail(`${megabytes(bytes)} MB installed, at most ${INSTALLED_MAX_MB}`)
  if (first.ms > START_MAX_MS) fail(`a first start takes ${first.ms} ms, at most ${START_MAX_MS}`)
  for (const text of [said, first.errors, again.errors])
    if (/warn/i.test(text)) fail(`it warns: ${text}`)
}

function figures({ packages, bytes, first, again }) {
  return [
    `installed ${packages.length} packages, ${megabytes(bytes)} MB, Node ${process.version}`,
    `started   ready in ${first.ms} ms (at most ${first.peakMb} MB), again in ${again.ms} ms (${again.peakMb} MB)`,
  ]
}

function notes(changes, seen) {
  const lines = figures(seen).map((line) => `- ${line.replace(/\s+/g, ' ')}`)
  return `# Wakeful ${version}\n\n${changes}\n\n## Measured on the packed tarball\n\n${lines.join('\n')}\n`
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
