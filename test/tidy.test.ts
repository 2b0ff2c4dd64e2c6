/** The house rules hold for every source file, and each rule is seen to bite. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { RULES, type Source, TEST_RULES } from './tidy-rules.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

function sources(folder: string, endings = /\.tsx?$/): Source[] {
  if (!existsSync(`${ROOT}${folder}`)) return []
  return readdirSync(`${ROOT}${folder}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && endings.test(entry.name))
    .map((entry) => `${entry.parentPath.slice(ROOT.length)}/${entry.name}`)
    .filter((path) => !/\/(?:node_modules|dist)\//.test(path))
    .map((path) => ({ path, text: readFileSync(`${ROOT}${path}`, 'utf8') }))
}

const server = [...sources('src'), ...sources('packages')].filter(
  ({ path }) => !path.startsWith('packages/console/'),
)
// A browser has neither our clock nor our claims; what is about form holds there too.
const page = sources('packages/console/src')
const FORM: readonly string[] = ['shortFiles', 'nothingLeft', 'plainNames', 'noSilentCatch']

describe('every source file', () => {
  it.each(Object.entries(RULES))('keeps the rule %s', (name, rule) => {
    expect(server.length).toBeGreaterThan(50)
    const files = FORM.includes(name) ? [...server, ...page] : server
    expect(files.flatMap((source) => rule(source))).toEqual([])
  })
})

// The rules themselves name what they forbid.
const tests = sources('test').filter(({ path }) => !path.startsWith('test/tidy'))
const running = ['test', 'bench', 'scripts', 'examples'].flatMap((folder) =>
  sources(folder, /\.(?:tsx?|mjs|py)$/),
)

const EVERYWHERE: readonly string[] = ['insideRepository', 'knownNumbers']

describe('every test', () => {
  it.each(Object.entries(TEST_RULES))('keeps the rule %s', (name, rule) => {
    expect(tests.length).toBeGreaterThan(100)
    const files = EVERYWHERE.includes(name) ? [...server, ...page, ...running] : tests
    expect(files.flatMap((source) => rule(source))).toEqual([])
  })
})

const long = (count: number, line = '  work()') =>
  Array.from({ length: count }, () => line).join('\n')
const ALL = { ...RULES, ...TEST_RULES }
const BROKEN: Record<keyof typeof ALL, Source & { says: string }> = {
  importDirection: {
    path: 'src/kernel/x.ts',
    text: `import { y } from '../api/y.ts'`,
    says: 'kernel imports api',
  },
  oneClaim: {
    path: 'src/store/x.ts',
    text: 'select 1 for update skip locked',
    says: 'use dueRows or claimRows',
  },
  oneClock: {
    path: 'src/core/x.ts',
    text: 'const t = Date.now()',
    says: 'say NOW',
  },
  portableSql: {
    path: 'src/store/x.ts',
    text: '`update wakeful.work set status = case status when 1 then 2 end`',
    says: 'case when x',
  },
  oneEnvironment: { path: 'src/http/x.ts', text: 'process.env.PORT', says: 'src/config.ts' },
  shortFiles: { path: 'src/core/x.ts', text: long(401), says: 'a file of its own' },
  shortFunctions: {
    path: 'src/core/x.ts',
    text: `function f() {\n${long(70)}\n}`,
    says: 'name its steps',
  },
  nothingLeft: { path: 'src/core/x.ts', text: `// ${'TO'}${'DO'} later`, says: 'do it now' },
  plainNames: { path: 'src/core/utils.ts', text: '', says: 'call it by what is in it' },
  noSilentCatch: { path: 'src/core/x.ts', text: 'try { f() } catch {}', says: 'handle it' },
  insideRepository: {
    path: 'test/core/x.test.ts',
    text: `read('${'../'.repeat(3)}cases/cron.json')`,
    says: 'into test/cases',
  },
  knownNumbers: {
    path: 'test/core/x.test.ts',
    text: `it('${'ruling'} 18: an alarm', fires)`,
    says: 'docs/rules.md',
  },
  nothingSkipped: {
    path: 'test/core/x.test.ts',
    text: `it.skipIf(!there)('works', work)`,
    says: 'bring along what they need',
  },
  noRealTime: {
    path: 'test/core/x.test.ts',
    text: 'expect(performance.now() - began).toBeLessThan(200)',
    says: 'wait for the event',
  },
}

describe('each rule bites', () => {
  it.each(Object.entries(BROKEN))('%s', (name, { says, ...source }) => {
    const complaints = ALL[name as keyof typeof ALL](source)
    expect(complaints).toHaveLength(1)
    expect(complaints[0]).toContain(says)
    expect(complaints[0]).toContain(source.path)
  })

  it('on every form of SQL that distributed databases refuse', () => {
    const complaints = (sql: string) =>
      RULES.portableSql({ path: 'src/store/x.ts', text: `\`${sql}\`` }).length
    const refused = [
      'update wakeful.work set at = now()',
      `update wakeful.work set at = \${NOW} + i.ms * interval '1 millisecond'`,
      `update wakeful.work set x = 1 where at + interval '0' < $1`,
      `update wakeful.work set at = date_trunc('milliseconds', $1)`,
      'update wakeful.work set token = ($2::uuid[])[i.place]',
      'with a as (\n delete from wakeful.work returning id)\n insert into wakeful.turns select id from a',
    ]
    expect(refused.map(complaints)).toEqual(refused.map(() => 1))
    const fine = [
      `select to_char(at at time zone 'UTC', 'YYYY')`,
      'with a as (select 1)\n update wakeful.work set x = 1',
      'with a as (\n delete from wakeful.work),\n b as (\n insert into wakeful.turns select 1)\n select 1',
    ]
    expect(fine.map(complaints)).toEqual([0, 0, 0])
  })

  it('also on dynamic imports, files at the top, and new Date() without arguments', () => {
    expect(
      RULES.importDirection({ path: 'src/core/x.ts', text: `await import('../store/db.ts')` }),
    ).toHaveLength(1)
    expect(
      RULES.importDirection({ path: 'src/http/x.ts', text: `import '../app/app.ts'` }),
    ).toHaveLength(1)
    expect(RULES.oneClock({ path: 'src/core/x.ts', text: 'new Date()' })).toHaveLength(1)
    expect(RULES.oneClock({ path: 'src/core/x.ts', text: 'new Date(at)' })).toEqual([])
  })

  it('also on packages in the kernel, on the way in by another file than the list, and on rooms it does not know', () => {
    const bad = (path: string, from: string) =>
      RULES.importDirection({ path, text: `import { x } from '${from}'` })
    const up = (levels: number) => '../'.repeat(levels)
    const mail = 'packages/channels/email/src/mail.ts'
    expect(bad('src/config.ts', `${up(1)}packages/sources/src/json-path.ts`)).toHaveLength(1)
    expect(bad('src/app/parts.ts', up(2) + mail)).toHaveLength(1)
    expect(bad(mail, `${up(4)}src/app/app.ts`)).toHaveLength(1)
    expect(bad('packages/schedule/src/cron.ts', `${up(3)}src/core/ids.ts`)).toHaveLength(1)
    expect(bad('packages/sources/src/feed.ts', `${up(2)}cli/src/text.ts`)).toHaveLength(1)
    expect(bad('src/app/packs.ts', up(2) + mail)).toEqual([])
    expect(bad(mail, `${up(4)}src/app/pack.ts`)).toEqual([])
    expect(bad('src/core/x.ts', `${up(2)}packages/schedule/src/index.ts`)).toEqual([])
    expect(bad('src/newroom/x.ts', './y.ts')[0]).toContain('is in no room')
  })

  it('also on functions whose signature takes several lines, and not on calls that do', () => {
    const bad = (text: string) => RULES.shortFunctions({ path: 'src/core/x.ts', text })
    const body = long(70, '    work()')
    const over = [
      `  private constructor(\n    a: A,\n  ) {\n${body}\n  }`,
      `  async #take(\n    a: A,\n  ): Promise<A> {\n${body}\n  }`,
      `  const take = async (\n    a: A,\n  ): Promise<A> => {\n${body}\n  }`,
      `  function take<\n    A extends B,\n  >(a: A): A {\n${body}\n  }`,
      `  function take<\n    A extends B,\n  >(\n    a: A,\n  ): A {\n${body}\n  }`,
    ]
    for (const text of over) expect(bad(text), text.slice(0, 40)).toHaveLength(1)
    expect(bad(`  take(\n${body}\n  )\n  if (a) {\n  }`)).toEqual([])
  })

  it('also on sleeps and on looks that give up after a second, and not on paths that stay inside', () => {
    const bad = (text: string) => TEST_RULES.noRealTime({ path: 'test/core/x.test.ts', text })
    expect(bad('await new Promise((done) => setTimeout(done, 50))')).toHaveLength(1)
    expect(bad('await vi.waitUntil(() => done)')).toHaveLength(1)
    expect(bad('await until(what, () => done)')).toEqual([])
    const path = 'test/core/x.test.ts'
    expect(TEST_RULES.insideRepository({ path, text: `'${'../'.repeat(2)}src/index.ts'` })).toEqual(
      [],
    )
    const python = `it.skipIf(PYTHON === '')('runs', run)`
    expect(TEST_RULES.nothingSkipped({ path, text: python })).toEqual([])
  })

  it('and leaves comments alone', () => {
    expect(RULES.oneClaim({ path: 'src/core/x.ts', text: '/* for update skip locked */' })).toEqual(
      [],
    )
  })
})
