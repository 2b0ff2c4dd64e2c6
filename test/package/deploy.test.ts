/** What the files in deploy/ promise, read from them: nobody is root, nothing is written but data, probes, budgets, time to stop. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SERVICES } from '../../src/config.ts'
import { ROOT } from './installed.ts'

/** In `packages/cli/src/serve.ts`: what runs is finished within it. */
const STOP_SECONDS = 10
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const image = read('deploy/Dockerfile')
const compose = read('deploy/compose.yaml')
const unit = read('deploy/systemd/wakeful.service')
const kubernetes = read('deploy/kubernetes/wakeful.yaml')
const documents = kubernetes.split(/^---$/m)
const ofKind = (kind: string) => documents.filter((text) => text.includes(`\nkind: ${kind}\n`))
const nameOf = (text: string) => /^metadata:\n {2}name: (\S+)/m.exec(text)?.[1]
const seconds = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, found]) => Number(found))

const settings = new Set(
  [...read('docs/settings.md').matchAll(/^\| `([A-Z0-9_]+)` \|/gm)].map(([, name]) => name),
)
/** Of the database's image, of its client and of Node. */
const OTHERS = new Set([
  ...['POSTGRES_USER', 'POSTGRES_DB', 'POSTGRES_PASSWORD', 'PGPASSWORD', 'NODE_ENV'],
])

it.each([
  ['Dockerfile', image],
  ['compose.yaml', compose],
  ['kubernetes/wakeful.yaml', kubernetes],
  ['systemd/wakeful.service', unit],
])('%s sets nothing that is not read', (_, text) => {
  const set = [
    ...text.matchAll(
      /^(?:ENV |Environment=|\s+)?([A-Z][A-Z0-9_]+)(?:=|: )|name: ([A-Z][A-Z0-9_]+),/gm,
    ),
  ].map(([, line, inline]) => line ?? inline ?? '')
  expect(set).not.toEqual([])
  expect(set.filter((name) => !settings.has(name) && !OTHERS.has(name))).toEqual([])
})

describe('the image', () => {
  it('is nobody by number, writes to its volume alone, and hears SIGTERM itself', () => {
    expect(image).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m)
    expect(image).toMatch(/^VOLUME \/data$/m)
    expect(image).toMatch(/DATABASE_URL=pglite:\/data\/.*\n.*WAKEFUL_FILES=\/data\//)
    expect(image).toMatch(/^STOPSIGNAL SIGTERM$/m)
    // In brackets: without a shell in between, which would not pass the signal on.
    expect(image).toMatch(
      /^ENTRYPOINT \["node", "\/app\/node_modules\/wakeful\/dist\/cli\/bin.js"]$/m,
    )
    expect(image).toMatch(/^CMD \["serve"]$/m)
    expect(image).toMatch(/WAKEFUL_AUTH=keys/)
  })

  it('is of two stages, the second without what built it', () => {
    const stages = image.split(/^FROM /m).slice(1)
    expect(stages).toHaveLength(2)
    expect(stages[1]).not.toMatch(/^RUN|^COPY \. /m)
  })

  it('installs before it copies the sources, so that a change of them installs nothing again', () => {
    const install = image.indexOf('RUN node scripts/prepare.mjs install')
    expect(install).toBeGreaterThan(image.indexOf('COPY package.json package-lock.json .npmrc ./'))
    expect(install).toBeLessThan(image.indexOf('COPY . .'))
  })
})

describe('compose.yaml', () => {
  it('runs read-only without privileges, after its database, with time to stop', () => {
    for (const part of [
      'read_only: true',
      'tmpfs: [/tmp]',
      'cap_drop: [ALL]',
      'no-new-privileges:true',
      'condition: service_healthy',
    ])
      expect(compose).toContain(part)
    // A password may hold what is special in an address.
    expect(compose).not.toMatch(/postgres:.*POSTGRES_PASSWORD/)
    const graces = seconds(compose, /stop_grace_period: (\d+)s/g)
    expect(Math.min(...graces)).toBeGreaterThan(STOP_SECONDS)
  })

  it('has every service, and opens its port to this machine alone', () => {
    expect(servicesIn(compose, /WAKEFUL_SERVICES: (\S+)/g)).toEqual(new Set(SERVICES))
    expect(compose).toMatch(/ports: \["127\.0\.0\.1:/)
  })
})

describe('the manifests of Kubernetes', () => {
  const deployments = ofKind('Deployment')

  it('have every service in some deployment, and a budget for each', () => {
    expect(servicesIn(kubernetes, /WAKEFUL_SERVICES, value: "(\S+)"/g)).toEqual(new Set(SERVICES))
    const budgets = ofKind('PodDisruptionBudget')
    expect(deployments).toHaveLength(3)
    expect(budgets.map(nameOf)).toEqual(deployments.map(nameOf))
    for (const budget of budgets) expect(budget).toContain('maxUnavailable: 1')
  })

  it.each(deployments.map((text) => [nameOf(text), text]))(
    '%s is nobody, read-only, probed, spread and given time to stop',
    (_, text = '') => {
      for (const part of [
        'replicas: 2',
        'runAsNonRoot: true',
        'readOnlyRootFilesystem: true',
        'allowPrivilegeEscalation: false',
        'capabilities: { drop: [ALL] }',
        'seccompProfile: { type: RuntimeDefault }',
        'topologySpreadConstraints:',
        'limits: { memory:',
      ])
        expect(text).toContain(part)
      expect(text).toMatch(/startupProbe:\n\s+httpGet: { path: \/readyz/)
      expect(text).toMatch(/readinessProbe:\n\s+httpGet: { path: \/readyz/)
      // A database that is away is no reason to start a process anew.
      expect(text).toMatch(/livenessProbe:\n\s+tcpSocket:/)
      const [grace = 0] = seconds(text, /terminationGracePeriodSeconds: (\d+)/g)
      const [before = 0] = seconds(text, /\[sleep, "(\d+)"]/g)
      expect(grace - before).toBeGreaterThan(STOP_SECONDS)
    },
  )

  it('name a version, share the files of work, lead in by TLS, and scale agents', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string }
    for (const text of deployments) {
      expect(text).toContain(`image: wakeful:${version}`)
      expect(text).toContain('persistentVolumeClaim: { claimName: wakeful-files }')
    }
    expect(ofKind('PersistentVolumeClaim')[0]).toContain('accessModes: [ReadWriteMany]')
    expect(kubernetes).toContain('WAKEFUL_FILES: /data/files')
    expect(ofKind('Ingress')[0]).toMatch(/tls:[\s\S]+service: { name: wakeful,/)
    expect(ofKind('HorizontalPodAutoscaler')[0]).toContain('name: wakeful-turns }')
  })

  it('send requests to the doors alone', () => {
    const [service = ''] = ofKind('Service')
    expect(service).toContain('app.kubernetes.io/component: web }')
    expect(deployments[0]).toContain('value: "http,outbox"')
  })
})

it('the unit of systemd is nobody, sees a read-only system, and is given time to stop', () => {
  for (const line of [
    'DynamicUser=yes',
    'StateDirectory=wakeful',
    'ProtectSystem=strict',
    'NoNewPrivileges=yes',
    'CapabilityBoundingSet=',
    'Restart=always',
  ])
    expect(unit).toMatch(new RegExp(`^${line}$`, 'm'))
  const [stop = 0] = seconds(unit, /^TimeoutStopSec=(\d+)/gm)
  expect(stop).toBeGreaterThan(STOP_SECONDS)
})

function servicesIn(text: string, pattern: RegExp): Set<string> {
  return new Set([...text.matchAll(pattern)].flatMap(([, list = '']) => list.split(',')))
}
