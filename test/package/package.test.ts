/** The package does what it promises with nothing but what it depends on. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { post, Server, SHORT_LIVED } from '../process/server.ts'
import { until } from '../setup/until.ts'
import { type Installed, install, manifest, ROOT, run } from './installed.ts'

const PACKAGES_MAX = 5

let installed: Installed
beforeAll(async () => {
  installed = await install()
})

describe('the package', () => {
  it('needs few others, and those need none', () => {
    const names = Object.keys(manifest(installed.own).dependencies ?? {})
    expect(names.length).toBeLessThan(PACKAGES_MAX)
    for (const name of names)
      expect(Object.keys(manifest(join(ROOT, 'node_modules', name)).dependencies ?? {})).toEqual([])
  })

  it('has code and types at each of its ways in, and passes on the licences of what is inside', async () => {
    const { home, own } = installed
    const ways = Object.entries(manifest(own).exports)
    for (const [, { types, default: code }] of ways) {
      expect(existsSync(join(own, types)), types).toBe(true)
      expect(existsSync(join(own, code)), code).toBe(true)
    }
    // Those load a package that is an optional peer.
    const peers = ['./langgraph', './openai-agents', './react']
    const names = ways.map(([way]) => way).filter((way) => !peers.includes(way))
    const loads = names.map((way) => `await import('${way.replace('.', 'wakeful')}')`).join('\n')
    const args = [...SHORT_LIVED, '--input-type=module', '-e', loads]
    await run(process.execPath, args, { cwd: home })
    expect(readFileSync(join(own, 'dist/LICENSES.txt'), 'utf8')).toMatch(/^fastify \d/m)
    expect(readdirSync(join(own, 'dist')).filter((name) => name.startsWith('.'))).toEqual([])
  })

  it('holds every file that its pages link to', () => {
    const { own } = installed
    const pages = readdirSync(own, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.md'),
    )
    expect(pages.length).toBeGreaterThan(20)
    const missing = pages.flatMap((page) => {
      const text = readFileSync(join(own, page), 'utf8')
      const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[\w-]*)?\)|<img src="([^"]+)"/g)]
      return links
        .map(([, link = '', picture = '']) => link || picture)
        .filter((link) => !/^[a-z]+:|^\/|^api\.md$/.test(link))
        .filter((link) => !existsSync(join(own, dirname(page), link)))
        .map((link) => `${page}: ${link}`)
    })
    expect(missing).toEqual([])
  })

  it('serves on the embedded store in an empty folder, and again on what it kept', async () => {
    const { bin, home } = installed
    for (const seq of [1, 2]) {
      const server = await Server.start({}, { bin, folder: home })
      expect(await post(server.url, 'me:companion:first', { text: 'hello' })).toMatchObject({ seq })
      await until('the demo agent answers', async () => {
        const answer = await fetch(`${server.url}/v1/sessions/me:companion:first/effects`)
        const { data } = (await answer.json()) as { data: { type: string }[] }
        return data.filter(({ type }) => type === 'send_message').length >= seq
      })
      expect((await fetch(`${server.url}/`)).status).toBe(200)
      expect(await server.end('SIGTERM')).toMatchObject({ code: 0 })
      expect(server.stderr).not.toMatch(/warning/i)
    }
  })

  it('forecasts in a thread that finds the embedded store', async () => {
    const { bin, home } = installed
    const server = await Server.start({ DATABASE_URL: 'memory:' }, { bin, folder: home })
    const answer = await fetch(`${server.url}/v1/people/me/forecast`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ days: 1 }),
    })
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)])
  })

  it('says what to install where tracing is asked for and not there', async () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', DATABASE_URL: 'memory:' }
    const server = new Server(env, { bin: installed.bin, folder: installed.home })
    await expect(server.address).rejects.toThrow('ended with 2')
    expect(server.stderr).toContain('npm install @opentelemetry/sdk-trace-node')
  })
})
