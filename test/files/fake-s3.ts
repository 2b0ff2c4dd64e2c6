/** An S3 in memory that takes only what is signed rightly, by an independent signer's reckoning. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AwsV4Signer } from 'aws4fetch'

export const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'verysecret', sessionToken: null }

export interface FakeS3 {
  readonly endpoint: string
  readonly objects: Map<string, { bytes: Buffer; type: string; modifiedAt: Date }>
  readonly requests: string[]
  /** Statuses to answer with before anything is looked at. */
  readonly failures: number[]
  stop(): Promise<void>
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function isSigned(request: IncomingMessage, body: Buffer, origin: string): Promise<boolean> {
  const header = (name: string) => String(request.headers[name] ?? '')
  const signed = /SignedHeaders=([^,]+)/.exec(header('authorization'))?.[1]?.split(';') ?? []
  const hash = createHash('sha256').update(body).digest('hex')
  if (header('x-amz-content-sha256') !== hash || !signed.includes('host')) return false
  const named = signed.filter((name) => !['host', 'x-amz-date'].includes(name))
  const { headers } = await new AwsV4Signer({
    accessKeyId: KEYS.accessKeyId,
    secretAccessKey: KEYS.secretAccessKey,
    method: request.method ?? '',
    url: `${origin}${request.url}`,
    headers: Object.fromEntries(named.map((name) => [name, header(name)])),
    service: 's3',
    region: 'eu-central-1',
    datetime: header('x-amz-date'),
    allHeaders: true,
  }).sign()
  return headers.get('authorization') === header('authorization')
}

function listing(objects: FakeS3['objects'], query: URLSearchParams): string {
  const prefix = query.get('prefix') ?? ''
  const after = query.get('start-after') ?? ''
  const max = Number(query.get('max-keys') ?? 1000)
  const found = [...objects.keys()].sort().filter((key) => key.startsWith(prefix) && key > after)
  const entries = found.slice(0, max).map((key) => {
    const modified = objects.get(key)?.modifiedAt.toISOString()
    return `<Contents><Key>${key}</Key><LastModified>${modified}</LastModified><Size>1</Size></Contents>`
  })
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>${found.length > max}</IsTruncated>${entries.join('')}</ListBucketResult>`
}

export async function fakeS3(bucket: string): Promise<FakeS3> {
  const objects: FakeS3['objects'] = new Map()
  const requests: string[] = []
  const failures: number[] = []
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    requests.push(`${request.method} ${request.url}`)
    const failure = failures.shift()
    if (failure !== undefined) return void response.writeHead(failure).end()
    const origin = `http://${request.headers.host}`
    if (!(await isSigned(request, body, origin)))
      return void response
        .writeHead(403)
        .end('<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>')
    const url = new URL(request.url ?? '/', origin)
    const key = decodeURIComponent(url.pathname).slice(bucket.length + 2)
    const kept = objects.get(key)
    if (key === '') return void response.end(listing(objects, url.searchParams))
    if (request.method === 'PUT') {
      const type = String(request.headers['content-type'])
      objects.set(key, { bytes: body, type, modifiedAt: new Date() })
      return void response.end()
    }
    if (request.method === 'DELETE') {
      objects.delete(key)
      return void response.writeHead(204).end()
    }
    if (kept === undefined) return void response.writeHead(404).end('<Error/>')
    response.writeHead(200, { 'content-length': kept.bytes.length }).end(kept.bytes)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    requests,
    failures,
    stop: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}
