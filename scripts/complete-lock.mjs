// Adds to package-lock.json what `npm ci` reports as missing: optional binaries of other platforms, which an install on one
// platform leaves out. It adds entries and changes none. Run it after a change of dependencies:
// `node scripts/complete-lock.mjs [folder]`.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = process.argv[2] ?? '.'
const file = join(folder, 'package-lock.json')
/** A package that is added may have optional packages of its own. */
const ROUNDS_MAX = 5
const SYSTEMS =
  'aix android darwin freebsd linux netbsd openbsd openharmony sunos win32 windows'.split(' ')
const PROCESSORS = 'arm64 x64 ia32 arm ppc64 riscv64 s390x loong64 mips64el wasm32'.split(' ')

for (let round = 0; round < ROUNDS_MAX; round += 1) {
  const missing = missingPackages()
  if (missing.length === 0) {
    console.log(`${file}: complete`)
    process.exit(0)
  }
  const lock = JSON.parse(readFileSync(file, 'utf8'))
  for (const [name, version] of missing) {
    const entry = entryOf(lock.packages, name, version)
    lock.packages[`node_modules/${name}`] = entry
    console.log(`+ ${name} ${entry.version}${entry.integrity ? '' : ', without integrity'}`)
  }
  lock.packages = Object.fromEntries(
    Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
}
fail(`${file}: still incomplete after ${ROUNDS_MAX} rounds; run npm ci --dry-run to see why`)

function missingPackages() {
  const { status, stderr } = spawnSync('npm', ['ci', '--dry-run'], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (status === 0) return []
  const missing = [...stderr.matchAll(/Missing: (\S+)@(\S*) from lock file/g)]
  if (missing.length === 0) fail(stderr)
  return missing.map(([, name, version]) => [name, version])
}

function entryOf(packages, name, reported) {
  const parent = Object.values(packages).find((each) => each.optionalDependencies?.[name])
  if (parent === undefined) fail(`${name}: not an optional package; run npm install`)
  const version = reported || parent.optionalDependencies[name]
  const known = inRegistry(`${name}@${version}`)
  const words = name.replace(/^@[^/]+\//, '').split('-')
  const named = (list) => list.filter((each) => words.includes(each)).slice(0, 1)
  const entry = {
    version,
    integrity: known['dist.integrity'],
    cpu: known.cpu ?? named(PROCESSORS),
    dev: parent.dev || parent.devOptional,
    libc: known.libc,
    license: known.license,
    optional: true,
    os: known.os ?? named(SYSTEMS),
    engines: known.engines,
  }
  const isSet = ([, value]) => value && value.length !== 0
  return Object.fromEntries(Object.entries(entry).filter(isSet))
}

/** What the registry knows of it; nothing where it has no such package. */
function inRegistry(name) {
  const fields = ['dist.integrity', 'os', 'cpu', 'libc', 'engines', 'license']
  const { status, stdout } = spawnSync('npm', ['view', name, ...fields, '--json'], {
    encoding: 'utf8',
  })
  return status === 0 && stdout.trim() !== '' ? JSON.parse(stdout) : {}
}

function fail(why) {
  console.error(why)
  process.exit(1)
}
