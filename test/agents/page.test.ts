/** Files that a model's Markdown becomes: nothing in it is HTML of its own. */
import { expect, it } from 'vitest'
import { page } from '../../packages/executors/src/page.ts'

it('prints Markdown as one page, raw HTML as text, links to the web alone, pictures as links', () => {
  const html = page(
    'A <title>',
    '# Hello\n\n**bold** <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n[ok](https://a.example/?a=1&b=2) [bad](javascript:alert(1)) ![shot](https://a.example/x.png)\n\n- one\n- two',
  )
  expect(html).toContain('<title>A &lt;title&gt;</title>')
  expect(html).toContain('<strong>bold</strong>')
  expect(html).toContain('<a href="https://a.example/?a=1&amp;b=2" rel="noreferrer">ok</a>')
  expect(html).toContain('<a href="https://a.example/x.png" rel="noreferrer">shot</a>')
  expect(html).toContain('<li>one</li>')
  expect(html).not.toMatch(/<script|<img|href="javascript/i)
})
