/**
 * Markdown as elements of the page. The text was written by a program or a model: nothing of it becomes HTML, raw HTML in it is
 * shown as the text it is, links lead only to the web or to mail, and pictures are links, so that reading calls nobody.
 */
import { Lexer, type Token, type Tokens } from 'marked'
import { Fragment, type ReactNode, useMemo } from 'react'
import './prose.css'

/** Longer texts are shown as they are: reading them would hold up the page. */
const CHARACTERS_MAX = 200_000
/** Deeper ones are shown as text. */
const DEPTH_MAX = 24

interface Props {
  readonly text: string
  /** A new line in the text is one on the page, as in chats. */
  readonly breaks?: boolean
}

export function Markdown({ text, breaks = false }: Props) {
  const blocks = useMemo(() => tokensOf(text, breaks), [text, breaks])
  if (blocks === null) return <pre className="text-sm whitespace-pre-wrap">{text}</pre>
  return <div className="prose">{all(blocks, 0)}</div>
}

function tokensOf(text: string, breaks: boolean): Token[] | null {
  if (text.length > CHARACTERS_MAX) return null
  try {
    return new Lexer({ gfm: true, breaks }).lex(text)
  } catch {
    // Nested beyond what the reader takes: the text itself can still be read.
    return null
  }
}

function all(tokens: readonly Token[] | undefined, depth: number): ReactNode {
  return tokens?.map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text's parts never move
    <Fragment key={index}>{one(token, depth + 1)}</Fragment>
  ))
}

function one(token: Token, depth: number): ReactNode {
  if (depth > DEPTH_MAX) return token.raw
  return block(token as Tokens.Generic, depth) ?? inline(token as Tokens.Generic, depth)
}

function block(token: Tokens.Generic, depth: number): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return ''
    case 'hr':
      return <hr />
    case 'heading':
      return <Title level={token.depth}>{all(token.tokens, depth)}</Title>
    case 'paragraph':
      return <p>{all(token.tokens, depth)}</p>
    case 'blockquote':
      return <blockquote>{all(token.tokens, depth)}</blockquote>
    case 'code':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: else it could not be scrolled by keyboard
        <pre tabIndex={0}>
          <code>{token.text}</code>
        </pre>
      )
    case 'list':
      return listOf(token as Tokens.List, depth)
    case 'table':
      return tableOf(token as Tokens.Table, depth)
    case 'html':
      return <p>{token.raw}</p>
    default:
      return null
  }
}

function inline(token: Tokens.Generic, depth: number): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{all(token.tokens, depth)}</strong>
    case 'em':
      return <em>{all(token.tokens, depth)}</em>
    case 'del':
      return <del>{all(token.tokens, depth)}</del>
    case 'codespan':
      return <code>{token.text}</code>
    case 'br':
      return <br />
    case 'link':
      return <Away href={token.href}>{all(token.tokens, depth)}</Away>
    case 'image':
      return <Away href={token.href}>{token.text === '' ? token.href : token.text}</Away>
    case 'text':
    case 'escape':
      return token.tokens === undefined ? unescaped(token.text) : all(token.tokens, depth)
    default:
      return token.raw
  }
}

/** Below the page's own headings. */
function Title({ level, children }: { level: number; children: ReactNode }) {
  if (level === 1) return <h3>{children}</h3>
  if (level === 2) return <h4>{children}</h4>
  return <h5>{children}</h5>
}

function listOf(list: Tokens.List, depth: number): ReactNode {
  const items = list.items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text's parts never move
    <li key={index}>
      {item.task && <span>{item.checked ? '☑ ' : '☐ '}</span>}
      {all(
        item.tokens.filter(({ type }) => type !== 'checkbox'),
        depth,
      )}
    </li>
  ))
  if (!list.ordered) return <ul>{items}</ul>
  return <ol start={list.start === '' ? 1 : list.start}>{items}</ol>
}

function tableOf(table: Tokens.Table, depth: number): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: else it could not be scrolled by keyboard
    <section className="overflow-x-auto" tabIndex={0} aria-label="Table">
      <table>
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a text's parts never move
              <th key={index}>{all(cell.tokens, depth)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a text's parts never move
            <tr key={index}>
              {row.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a text's parts never move
                <td key={column}>{all(cell.tokens, depth)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Away({ href, children }: { href: string; children: ReactNode }) {
  if (!isSafe(href)) return <>{children}</>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  )
}

/** Only with a scheme that runs nothing; relative ones would lead into this console. */
export function isSafe(href: string): boolean {
  if (!URL.canParse(href)) return false
  return ['https:', 'http:', 'mailto:'].includes(new URL(href).protocol)
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  nbsp: '\u00a0',
  '#39': "'",
}

function unescaped(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|nbsp|#39);/g, (whole, name) => ENTITIES[name] ?? whole)
}
