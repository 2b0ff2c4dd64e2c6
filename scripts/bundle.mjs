// Bundles what is published into dist: each way in is a file of its own, what they share lies in dist/chunks, and other
// people's packages are inside. Nothing is minified: a stack trace still says where. Types are written by tsc beside it.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))

const NATIVE = 'node_modules/fs-native-extensions'
/** Whose binary is on its way with us: the systems that Node itself is made for. */
const SYSTEMS = [
  'darwin-arm64',
  'darwin-x64',
  'linux-arm64',
  'linux-x64',
  'win32-arm64',
  'win32-x64',
]
/** There for its types, which are part of ours. */
const TYPES_ALONE = ['zod']
/** Packages that others look for and do without. */
const NOT_THERE = ['pg-native', 'bufferutil', 'utf-8-validate']
const outside = Object.keys(dependencies).filter((name) => !TYPES_ALONE.includes(name))

/** The addon finds its binary with the help of five packages; here it lies beside the chunks. */
const nativeBinary = {
  name: 'native binary',
  setup({ onLoad }) {
    onLoad({ filter: /fs-native-extensions[\\/]binding\.js$/ }, () => ({
      contents:
        "const binary = '../native/' + process.platform + '-' + process.arch + '.node'\nmodule.exports = require(binary)",
    }))
  },
}

/**
 * What the client of Telegram brings in the place of Node's own would get another name in a bundle, and the code it is passed to knows
 * it by its name.
 */
const ownAbort = {
  name: 'own abort',
  setup({ onLoad }) {
    onLoad(
      { filter: /node_modules[\\/]abort-controller[\\/]dist[\\/]abort-controller\.m?js$/ },
      () => ({
        contents: 'module.exports = { AbortController, AbortSignal }',
      }),
    )
  },
}

/** Our messages are in English; the other fifty languages would be read at every start. */
const oneLanguage = {
  name: 'one language',
  setup({ onLoad }) {
    onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js'",
    }))
  },
}

const shared = {
  bundle: true,
  format: 'esm',
  target: 'node20',
  outdir: 'dist',
  metafile: true,
  logLevel: 'warning',
}
const server = await build({
  ...shared,
  entryPoints: [
    { in: 'src/index.ts', out: 'index' },
    { in: 'src/testing.ts', out: 'testing' },
    { in: 'packages/cli/src/bin.ts', out: 'cli/bin' },
    ...['ai-sdk', 'claude-agent-sdk', 'langgraph', 'mastra', 'openai-agents', 'tools'].map(
      (name) => ({
        in: `packages/${name}/src/index.ts`,
        out: name,
      }),
    ),
    { in: 'packages/forecast/src/process.ts', out: 'forecast-process' },
  ],
  platform: 'node',
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  external: [...outside, ...Object.keys(peerDependencies), ...NOT_THERE],
  plugins: [nativeBinary, ownAbort, oneLanguage],
  // Packages written for require still find Node's own modules.
  banner: {
    js: "import { createRequire as wakefulRequire } from 'node:module'\nconst require = wakefulRequire(import.meta.url)",
  },
})
// For browsers and workers too, so without anything of Node's.
const anywhere = await build({
  ...shared,
  entryPoints: ['client', 'react', 'remote'].map((name) => ({
    in: `packages/${name}/src/index.ts`,
    out: name,
  })),
  platform: 'neutral',
  // There may be one React in a page.
  external: ['react'],
})

/** The embedded store looks for these beside its code; of the package's 26 MB, the 16 that are needed. */
for (const file of ['pglite.wasm', 'pglite.data', 'initdb.wasm'])
  cpSync(`node_modules/@electric-sql/pglite/dist/${file}`, `dist/chunks/${file}`)

mkdirSync('dist/native', { recursive: true })
for (const system of SYSTEMS)
  cpSync(`${NATIVE}/prebuilds/${system}/fs-native-extensions.node`, `dist/native/${system}.node`)

/** What those whose code is inside ask to be passed on. */
const insides = [server, anywhere].flatMap(({ metafile }) => Object.keys(metafile.inputs))
const consoles = JSON.parse(readFileSync('packages/console/package.json', 'utf8')).dependencies
const folders = new Set(Object.keys(consoles).map((name) => `node_modules/${name}`))
for (const path of insides) {
  const folder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]
  if (folder !== undefined) folders.add(folder)
}
const licences = [...folders].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each))
  const text = file === undefined ? '' : readFileSync(`${folder}/${file}`, 'utf8')
  return `${'='.repeat(80)}\n${name} ${version}, ${license}\n\n${text}`
})
writeFileSync('dist/LICENSES.txt', licences.join('\n'))
