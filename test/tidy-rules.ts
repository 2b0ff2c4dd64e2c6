/** The house rules, as functions from source text to complaints. Each complaint says what to write instead. */

export interface Source {
  /** Relative to the repository, with forward slashes. */
  readonly path: string
  readonly text: string
}

export const FILE_LINES_MAX = 400
export const FUNCTION_LINES_MAX = 70

/** The layers of a feature, each with what it may import beside itself. The file name says the layer: see `layer`. */
const RULES_LAYER = ['core', 'rules'] as const
const ROWS_LAYER = [...RULES_LAYER, 'rows', 'store'] as const
const TRIGGER_LAYER = [...ROWS_LAYER, 'trigger', 'kernel/trigger.ts', 'kernel/missed.ts'] as const

/** What a package may use of the kernel. */
const PLUGGED_IN = [
  ...['app/pack.ts', 'agents', 'api', 'calls', 'operations', 'clock.ts'],
  ...['kernel', ...TRIGGER_LAYER],
] as const

/**
 * What each part may import beside itself. A part is a folder or file directly under src, a layer of the features, or a package. A file
 * that may import more than its part has a line of its own, and a line may name one file of a part.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  core: [],
  store: ['core', 'rules', 'root.ts'],
  rules: RULES_LAYER,
  rows: ROWS_LAYER,
  trigger: TRIGGER_LAYER,
  operations: ['api', 'kernel/channel.ts', ...ROWS_LAYER],
  calls: RULES_LAYER,
  files: RULES_LAYER,
  agents: ['files', 'kernel/channel.ts', ...ROWS_LAYER],
  kernel: ['agents', 'calls', 'files', ...TRIGGER_LAYER],
  // `ctx.kernel` is typed by the class; nothing of it is imported but types.
  api: ['operations', 'kernel.ts', 'kernel/hints.ts', ...ROWS_LAYER],
  http: ['api', 'kernel/channel.ts', 'operations', 'files', 'config.ts', 'clock.ts', ...ROWS_LAYER],
  mcp: ['api', ...RULES_LAYER],
  'mcp/events.ts': ['packages/subscriptions', 'api', ...RULES_LAYER],
  observe: ['kernel', 'config.ts', ...ROWS_LAYER],
  'kernel.ts': ['kernel', 'agents', 'app', 'observe', 'version.ts', ...TRIGGER_LAYER],
  'clock.ts': [],
  'root.ts': [],
  'version.ts': ['root.ts'],
  'config.ts': ['files', 'store/shards/ranges.ts', ...RULES_LAYER],
  // Puts the kernel together; packages come in by one list.
  app: [
    ...['kernel', 'agents', 'calls', 'files', 'observe', 'http', 'mcp', 'api', 'operations'],
    ...['kernel.ts', ...TRIGGER_LAYER, 'config.ts', 'clock.ts', 'version.ts', 'root.ts'],
  ],
  'app/packs.ts': [
    ...['packages', 'app/app.ts', 'agents', 'api', 'calls', 'kernel', 'config.ts'],
    ...ROWS_LAYER,
  ],
  'index.ts': [
    ...['app', 'agents', 'api', 'observe', 'config.ts', 'kernel/channel.ts', ...RULES_LAYER],
    ...['packages/client', 'packages/companion', 'packages/sources'],
  ],
  'testing.ts': ['app', 'core', 'index.ts', 'clock.ts'],
  // In browsers too: it imports only types, which test/client/routes.test.ts checks.
  'packages/client': ['app/operations.ts', 'api', ...RULES_LAYER],
  'packages/react': ['packages/client'],
  // The same, on any runtime: test/agents/handle-turn.test.ts checks it.
  'packages/remote': ['agents', 'clock.ts', ...RULES_LAYER],
  'packages/ai-sdk': ['agents', 'packages/tools'],
  'packages/openai-agents': ['agents', 'core', 'packages/tools'],
  'packages/mastra': ['agents', 'packages/tools'],
  'packages/claude-agent-sdk': ['agents', 'packages/tools'],
  'packages/langgraph': [...PLUGGED_IN, 'packages/tools'],
  'packages/tools': [
    ...['app', 'agents', 'api', 'mcp', 'packages/companion', 'packages/mcp-stdio', 'clock.ts'],
    ...RULES_LAYER,
  ],
  // The outermost transport: it starts the server, and brings the demo's agent.
  'packages/cli': [
    ...['app', 'agents', 'api', 'mcp', 'observe', 'kernel', 'operations', 'config.ts', 'clock.ts'],
    ...['version.ts', 'root.ts', 'packages', ...ROWS_LAYER],
  ],
  'packages/mcp-stdio': ['api', 'mcp', ...RULES_LAYER],
  'packages/shards': ['app', ...ROWS_LAYER],
  'packages/tracing': ['config.ts', 'core'],
  'packages/executors': [...PLUGGED_IN, 'packages/model', 'packages/sources'],
  'packages/mcp-events': [...PLUGGED_IN, 'packages/subscriptions'],
  'packages/promise-check': [...PLUGGED_IN, 'packages/model', 'packages/executors'],
  packages: [...PLUGGED_IN, 'packages/model', 'packages/channels/hub'],
}

/** Pure, without dependencies: everybody may use them, and they use nobody. */
const PURE: readonly string[] = ['packages/schedule', 'packages/exact-json']

/**
 * `operations.ts` and `…-operations.ts` hold the API of a feature, `trigger.ts` and `…-trigger.ts` what fires, `rows.ts` and `…-rows.ts` its
 * SQL. Every other file of a feature is pure.
 */
function layer(path: string): string {
  return /(?:^|[/-])(rows|trigger|operations)\.ts$/.exec(path)?.[1] ?? 'rules'
}

/** `store` of src/store/pool.ts, `rows` of src/features/alarms/rows.ts, `packages/cli` of packages/cli/src/bin.ts. */
function room(path: string): string {
  const [top, first = '', second = ''] = path.split('/')
  if (top !== 'packages') return first === 'features' ? layer(path) : first
  return first === 'channels' ? `packages/channels/${second}` : `packages/${first}`
}

function imports({ path, text }: Source): { line: number; target: string }[] {
  const here = path.split('/').slice(0, -1)
  return lines(text).flatMap((line, index) => {
    const found = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/.exec(line)?.[1]
    if (found === undefined) return []
    const parts = [...here]
    for (const part of found.split('/')) {
      if (part === '..') parts.pop()
      else if (part !== '.') parts.push(part)
    }
    return [{ line: index + 1, target: parts.join('/') }]
  })
}

const lines = (text: string) => text.split('\n')

/** Comments and strings may speak of anything; the rules look at code. */
function code(text: string): string[] {
  return lines(text.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))).map(
    (line) => line.replace(/\/\/.*$/, ''),
  )
}

function each(source: Source, pattern: RegExp, say: string): string[] {
  return code(source.text).flatMap((line, index) =>
    pattern.test(line) ? [`${source.path}:${index + 1} ${say}`] : [],
  )
}

function mayImport(path: string): readonly string[] | undefined {
  const from = room(path)
  if (PURE.includes(from)) return []
  const named = MAY_IMPORT[path.replace(/^src\//, '')] ?? MAY_IMPORT[from]
  const allowed = from.startsWith('packages/') ? (named ?? MAY_IMPORT.packages) : named
  return allowed && [...allowed, ...PURE]
}

export function importDirection(source: Source): string[] {
  const from = room(source.path)
  const allowed = mayImport(source.path)
  if (allowed === undefined)
    return [
      `${source.path} is in no room that test/tidy-rules.ts knows: say there what it may import`,
    ]
  return imports(source).flatMap(({ line, target }) => {
    const to = room(target)
    const inside = /^(?:src|packages)\//.test(target)
    const names = [to, target.replace(/^src\//, ''), to.startsWith('packages/') ? 'packages' : to]
    if (to === from || !inside || names.some((each) => allowed.includes(each))) return []
    return [
      `${source.path}:${line} ${from} imports ${to}, but may import only ${allowed.join(', ')}: hand it in from src/app as a parameter, or move the shared part down to core or store`,
    ]
  })
}

export function oneClaim(source: Source): string[] {
  if (source.path === 'src/store/due.ts') return []
  return each(
    source,
    /skip\s+locked/i,
    'claims rows on its own: use dueRows or claimRows of src/store/due.ts',
  )
}

/** A literal of SQL, and the line it begins in. */
function literals(source: Source): { line: number; sql: string }[] {
  const text = code(source.text).join('\n')
  return [...text.matchAll(/`[^`]*`/g)].map((found) => ({
    line: lines(text.slice(0, found.index)).length,
    sql: found[0],
  }))
}

/** What distributed PostgreSQL refuses, and what to write instead. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/(?<!default )\bnow\(\)/, 'calls now(): say NOW of src/store/due.ts'],
  [/NOW\}\s*[+-][^\n]*\binterval\b/, 'adds to an instant: use inMs of src/store/due.ts'],
  [/\+ interval '0'/, "hides a column from its index with interval '0': use greatest"],
  [
    /\b(?:date_trunc|to_char)\((?![^\n]*at time zone 'UTC')/,
    "depends on the session's zone: say at time zone 'UTC'",
  ],
  [/\bcase (?!when\b)[\w.]+ when\b/, 'compares by "case x when": say "case when x = …"'],
  [/=\s*\([^()\n]*\)\[/, 'sets a value out of an array: join it, unnest … with ordinality'],
  [
    /\b(?:insert into|update wakeful|delete from)\b[\s\S]*\)\s*\n\s*(?:insert into|update|delete from)\b/,
    'writes on top of CTEs that write: make it a CTE, and select on top',
  ],
]

export function portableSql(source: Source): string[] {
  if (!/^(?:src\/(?:store|features)|packages\/(?!cli))\//.test(source.path)) return []
  return literals(source).flatMap(({ line, sql }) =>
    REFUSED.flatMap(([form, say]) =>
      form.test(sql) ? [`${source.path}:${line} has SQL that ${say}`] : [],
    ),
  )
}

export function oneClock(source: Source): string[] {
  // In the browser there is no other.
  if (source.path === 'src/clock.ts' || source.path.startsWith('packages/react/')) return []
  return each(
    source,
    /\bDate\.now\s*\(|new Date\(\s*\)/,
    'reads the time of day: in SQL say NOW of src/store/due.ts, for durations use performance.now(), without a database wallClock() of src/clock.ts',
  )
}

export function oneEnvironment(source: Source): string[] {
  if (source.path === 'src/config.ts') return []
  return each(
    source,
    /\bprocess\.env\b/,
    'reads the environment: add the variable to src/config.ts and hand the value in',
  )
}

export function shortFiles(source: Source): string[] {
  const count = lines(source.text.trimEnd()).length
  if (count <= FILE_LINES_MAX) return []
  return [
    `${source.path} has ${count} lines, at most ${FILE_LINES_MAX}: give one of its ideas a file of its own`,
  ]
}

const OPENS_FUNCTION =
  /^(\s*)(?=.*[{(<]$)(?:(?:export|default|async|static|readonly|private|protected|override|get|set) |#)*(?:function\b|[\w#]+\s*[(<]|\w+: (?:async )?\(|(?:const|let) \w+(?:: [^=]+)? = (?:async )?(?:\(|<|function))/
const OPENS_OTHER = /^\s*(?:if|for|while|switch|describe|it|test|return|await)\b/

/**
 * A function reaches from a line that opens one to the closing brace at the same indentation (the formatter sees
 * to that); a brace that opens again on its line closes only a type or a list of parameters.
 */
export function shortFunctions(source: Source): string[] {
  const all = lines(source.text)
  return all.flatMap((line, start) => {
    const indent = OPENS_FUNCTION.exec(line)?.[1]
    if (indent === undefined || OPENS_OTHER.test(line)) return []
    const body = bodyFrom(all, start, indent)
    if (body === null) return []
    const ends = new RegExp(`^${indent}\\}(?!.*\\{$)`)
    const end = all.findIndex((each, index) => index > body && ends.test(each))
    const length = end - start + 1
    if (end < 0 || length <= FUNCTION_LINES_MAX) return []
    return [
      `${source.path}:${start + 1} a function of ${length} lines, at most ${FUNCTION_LINES_MAX}: name its steps and call them`,
    ]
  })
}

/** The line whose brace opens the body; a signature may take several. Null: it was a call. */
function bodyFrom(all: readonly string[], start: number, indent: string): number | null {
  if (all[start]?.endsWith('{')) return start
  const level = new RegExp(`^${indent}\\S`)
  const next = all.findIndex((each, index) => index > start && level.test(each))
  const line = all[next]?.slice(indent.length) ?? ''
  if (/^>\($/.test(line)) return bodyFrom(all, next, indent)
  return /^(?:>\(.*)?\)(?::.*)?(?: =>)? \{$|^>\(.*\{$/.test(line) ? next : null
}

export function nothingLeft(source: Source): string[] {
  return lines(source.text).flatMap((line, index) =>
    /\b(?:TODO|FIXME|XXX|HACK)\b/.test(line)
      ? [
          `${source.path}:${index + 1} leaves a note to somebody: do it now, or say it in the docs as a limit`,
        ]
      : [],
  )
}

export function plainNames(source: Source): string[] {
  const name = source.path.split('/').at(-1) ?? ''
  return /^(?:utils?|common|helpers?|manager|misc|types)\.tsx?$/.test(name)
    ? [`${source.path} has a name that says nothing: call it by what is in it`]
    : []
}

export function noSilentCatch(source: Source): string[] {
  return each(
    source,
    /catch\s*(?:\([^)]*\))?\s*\{\s*\}|\.catch\(\(\)\s*=>\s*(?:\{\s*\}|undefined|null)\)/,
    'swallows an error: handle it, or log it where somebody looks',
  )
}

/** What a clone elsewhere does not have: everything above the repository. */
export function insideRepository({ path, text }: Source): string[] {
  const depth = path.split('/').length - 1
  return lines(text).flatMap((line, index) => {
    const climbs = [...line.matchAll(/(?<=['"`])(?:\.\.\/)+/g)]
    return climbs.some(([up]) => up.length / '../'.length > depth)
      ? [`${path}:${index + 1} leaves the repository: copy what it needs into test/cases`]
      : []
  })
}

export function nothingSkipped(source: Source): string[] {
  return each(
    source,
    /\b(?:it|test|describe)(?:\.\w+)*\.(?:skip|only|todo|fails|runIf|skipIf(?!\(PYTHON === ''\)))\b/,
    'leaves tests out: bring along what they need (only the examples in Python may look for PYTHON of test/setup/python.ts)',
  )
}

/** The tests' only looks at the machine's clock: whoever cannot read one cannot judge what it says. */
const MAY_MEASURE: readonly string[] = ['test/setup/until.ts', 'test/faults/measure.ts']

export function noRealTime(source: Source): string[] {
  if (MAY_MEASURE.includes(source.path)) return []
  return each(
    source,
    /\bperformance\.now\b|\bDate\.now\b|\bhrtime\b|new Promise\b.*\bsetTimeout\(|\bvi\.wait(?:For|Until)\(|\bwaitForTimeout\(/,
    "measures or waits by the machine's clock, which a busy machine breaks: wait for the event with until of test/setup/until.ts, move a test clock or fake timers, or count",
  )
}

/** What a number means must be found by whoever cloned this: rules in docs/rules.md, invariants in ARCHITECTURE.md. */
export function knownNumbers(source: Source): string[] {
  return lines(source.text).flatMap((line, index) =>
    /\b(?:ruling|fault)s? \d/i.test(line)
      ? [
          `${source.path}:${index + 1} cites a list that is not here: say "rule N" of docs/rules.md, or the thing itself`,
        ]
      : [],
  )
}

export const RULES = {
  importDirection,
  oneClaim,
  oneClock,
  portableSql,
  oneEnvironment,
  shortFiles,
  shortFunctions,
  nothingLeft,
  plainNames,
  noSilentCatch,
} as const

/** For the tests, and the first two for everything else that runs. */
export const TEST_RULES = { insideRepository, knownNumbers, nothingSkipped, noRealTime } as const
