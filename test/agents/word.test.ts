/** A Word file shows what the Markdown says and is more than text nowhere: no script, no picture that is fetched, no link but to the web or to mail. */
import { inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { word } from '../../packages/executors/src/word.ts'

/** One file of a zip archive, found as a word processor finds it: by the directory at its end. */
function unzipped(zip: Buffer, name: string): string {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]))
  let at = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [size, nameSize] = [zip.readUInt32LE(at + 20), zip.readUInt16LE(at + 28)]
    const extra = zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
    if (zip.toString('utf8', at + 46, at + 46 + nameSize) === name) {
      const local = zip.readUInt32LE(at + 42)
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
      return inflateRawSync(zip.subarray(start, start + size)).toString('utf8')
    }
    at += 46 + nameSize + extra
  }
  throw new Error(`no ${name}`)
}

async function parts(markdown: string): Promise<{ body: string; links: string; text: string }> {
  const zip = Buffer.from(await word('Tea', markdown))
  const body = unzipped(zip, 'word/document.xml')
  const text = body
    .replaceAll(/<[^>]*>/g, '\n')
    .replaceAll(/\n+/g, '\n')
    .trim()
  return { body, links: unzipped(zip, 'word/_rels/document.xml.rels'), text }
}

it('prints headings, emphasis, nested lists, tables, quotes and code', async () => {
  const { body, text } = await parts(
    '# Tea\n\nHot **strong** and *fine*.\n\n- green\n  1. sencha\n- black\n\n| kind | ml |\n|---|---|\n| cup | 250 |\n\n> said\n\n```\nif (tea) drink()\n```\n',
  )
  for (const said of ['Tea', 'strong', 'fine', 'green', 'sencha', 'black', 'kind', '250', 'said'])
    expect(text.split('\n')).toContain(said)
  expect(text).toContain('if (tea) drink()')
  expect(body).toContain('w:val="Heading1"')
  expect(body).toMatch(/<w:b\/>.*strong/)
  expect(body).toContain('<w:tbl>')
  expect(body).toContain('<w:ilvl w:val="1"/>')
})

it('links lead to the web or to mail alone, and nothing is fetched', async () => {
  const { links, text, body } = await parts(
    '[good](https://example.org/a) [bad](javascript:alert(1)) [file](file:///etc/passwd) ![seen](https://example.org/pixel.png) <script>x</script>',
  )
  expect(links).toContain('https://example.org/a')
  expect(links).not.toMatch(/javascript|file:\/\/|image"/)
  expect(text).toContain('bad')
  expect(text).toContain('seen')
  expect(body).not.toContain('<script')
})

it('any text makes a file that can be opened', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (markdown) => {
      const { body } = await parts(markdown)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: XML cannot hold them
      expect(body).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/)
      expect(body).toMatch(/^<\?xml[\s\S]*<\/w:document>$/)
    }),
    { numRuns: 40 },
  )
})
