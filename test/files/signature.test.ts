/** Signature Version 4: the examples that AWS publishes. */
import { expect, it } from 'vitest'
import { signedHeaders } from '../../src/files/s3.ts'

const credentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: null,
  region: 'us-east-1',
}
const at = new Date('2013-05-24T00:00:00Z')
const host = 'https://examplebucket.s3.amazonaws.com'
const signatureOf = (headers: Record<string, string>) =>
  /Signature=([0-9a-f]{64})$/.exec(headers.authorization ?? '')?.[1]

it('signs the published example of a read', async () => {
  const headers = await signedHeaders(
    {
      method: 'GET',
      url: new URL(`${host}/test.txt`),
      headers: { range: 'bytes=0-9' },
    },
    credentials,
    at,
  )
  expect(signatureOf(headers)).toBe(
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  )
})

it('signs the published example of a write, whose key has a character that URLs leave bare', async () => {
  const headers = await signedHeaders(
    {
      method: 'PUT',
      url: new URL(`${host}/test$file.text`),
      headers: {
        date: 'Fri, 24 May 2013 00:00:00 GMT',
        'x-amz-storage-class': 'REDUCED_REDUNDANCY',
      },
      body: Buffer.from('Welcome to Amazon S3.'),
    },
    credentials,
    at,
  )
  expect(signatureOf(headers)).toBe(
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  )
})

it('signs the published example of a list', async () => {
  const url = new URL(`${host}/?max-keys=2&prefix=J`)
  const headers = await signedHeaders({ method: 'GET', url }, credentials, at)
  expect(signatureOf(headers)).toBe(
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  )
})
