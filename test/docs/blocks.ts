/** The code blocks of the written pages, and what a reader may expect of each kind. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { marked, type Token } from 'marked'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** What `blocks.test.ts` does with a block of each kind. */
export const KINDS = {
  sh: 'run by bash in a folder of the page, against a running server',
  js: 'run by node there; one that begins with a comment of its name is kept as that file, for the blocks after it, and a "js sketch", which names what is yours, is only parsed',
  json: 'parsed; a configuration of an MCP client is started, and asked for its tools',
  sql: 'run on PostgreSQL as psql would',
  ini: 'read: every line is a section, a comment or a setting',
  Dockerfile: 'read: every line is an instruction',
  text: 'no code; "text output": what the block before it printed, with … for anything',
} as const
export type Kind = keyof typeof KINDS

export interface Block {
  readonly kind: Kind
  /** What stands behind the kind in its first line. */
  readonly more: string
  readonly text: string
}

/** README, what is in docs, and deploy. The examples have tests of their own. */
export const PAGES = [
  'README.md',
  'SKILL.md',
  'deploy/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/${name}`),
]

export function blocksOf(page: string): { blocks: Block[]; unnamed: string[] } {
  const blocks: Block[] = []
  const unnamed: string[] = []
  const walk = (tokens: readonly Token[]) => {
    for (const token of tokens) {
      if (token.type === 'code') {
        const [kind = '', ...more] = (token.lang ?? '').split(' ')
        if (kind in KINDS)
          blocks.push({ kind: kind as Kind, more: more.join(' '), text: token.text })
        else unnamed.push(token.text.split('\n', 1)[0] ?? '')
      }
      const { tokens: inner, items } = token as { tokens?: Token[]; items?: Token[] }
      walk(inner ?? [])
      walk(items ?? [])
    }
  }
  walk(marked.lexer(readFileSync(join(ROOT, page), 'utf8')))
  return { blocks, unnamed }
}
