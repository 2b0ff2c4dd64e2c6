/** Signature Version 4: the examples that AWS publishes, and an independent signer. */
import { AwsV4Signer } from 'aws4fetch'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { encoded, signedHeaders } from '../../src/files/signature.ts'

const credentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: null,
}
const at = new Date('2013-05-24T00:00:00Z')
const region = 'us-east-1'
const host = 'https://examplebucket.s3.amazonaws.com'
const signatureOf = (headers: Record<string, string>) =>
  /Signature=([0-9a-f]{64})$/.exec(headers.authorization ?? '')?.[1]

it('signs the published example of a read', () => {
  const headers = signedHeaders(
    {
      method: 'GET',
      url: new URL(`${host}/test.txt`),
      headers: { range: 'bytes=0-9' },
      body: null,
      region,
      at,
    },
    credentials,
  )
  expect(signatureOf(headers)).toBe(
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  )
})

it('signs the published example of a write, whose key has a character that URLs leave bare', () => {
  const headers = signedHeaders(
    {
      method: 'PUT',
      url: new URL(`${host}/test$file.text`),
      headers: {
        date: 'Fri, 24 May 2013 00:00:00 GMT',
        'x-amz-storage-class': 'REDUCED_REDUNDANCY',
      },
      body: Buffer.from('Welcome to Amazon S3.'),
      region,
      at,
    },
    credentials,
  )
  expect(signatureOf(headers)).toBe(
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  )
})

it('signs the published example of a list', () => {
  const url = new URL(`${host}/?max-keys=2&prefix=J`)
  const headers = signedHeaders(
    { method: 'GET', url, headers: {}, body: null, region, at },
    credentials,
  )
  expect(signatureOf(headers)).toBe(
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  )
})

it('agrees with an independent signer on any key, query, body and token', async () => {
  const word = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }).filter((text) => {
    return !/[/\\]/.test(text) && text !== '.' && text !== '..' && !/\p{Surrogate}/u.test(text)
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(word, { minLength: 1, maxLength: 4 }),
      fc.dictionary(word, word, { maxKeys: 3 }),
      fc.uint8Array({ maxLength: 64 }),
      fc.option(fc.stringMatching(/^[A-Za-z0-9+/=]{8,40}$/)),
      async (path, query, body, sessionToken) => {
        const url = new URL(`${host}/${path.map(encoded).join('/')}`)
        for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
        const headers = { 'content-type': 'text/markdown; charset=utf-8' }
        const own = signedHeaders(
          { method: 'PUT', url, headers, body, region: 'eu-central-1', at },
          { ...credentials, sessionToken },
        )
        const { headers: theirs } = await new AwsV4Signer({
          accessKeyId: credentials.accessKeyId,
          secretAccessKey: credentials.secretAccessKey,
          ...(sessionToken === null ? {} : { sessionToken }),
          method: 'PUT',
          url: url.href,
          headers: { ...headers, 'x-amz-content-sha256': own['x-amz-content-sha256'] ?? '' },
          body,
          service: 's3',
          region: 'eu-central-1',
          datetime: '20130524T000000Z',
          allHeaders: true,
        }).sign()
        expect(own.authorization).toBe(theirs.get('authorization'))
      },
    ),
    { numRuns: 200 },
  )
})
