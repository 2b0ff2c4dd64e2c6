/** Markdown as a Word document. As on the HTML page, links lead only to the web or to mail, and pictures become links. */
import type { ParagraphChild } from 'docx'
import { lexer, type Token, type Tokens } from 'marked'
import { SAFE } from './page.ts'

/** Loaded on demand: the library is large and rarely used. */
const library = () => import('docx')
type Library = Awaited<ReturnType<typeof library>>
interface Style {
  readonly bold?: boolean
  readonly italics?: boolean
  readonly strike?: boolean
  readonly font?: string
}

const MONO = { font: 'Courier New' }
const BULLETS = 'bullets'
const NUMBERS = 'numbers'
const LEVELS = 6
const INDENT = 360
/** Characters that XML does not allow; Word refuses a file that has them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const UNPRINTABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu

export async function word(title: string, markdown: string): Promise<Uint8Array> {
  const docx = await library()
  const { Document, LevelFormat, Packer } = docx
  const levels = (format: 'bullet' | 'decimal') =>
    Array.from({ length: LEVELS }, (_, level) => ({
      level,
      format: LevelFormat[format === 'bullet' ? 'BULLET' : 'DECIMAL'],
      text: format === 'bullet' ? '•' : `%${level + 1}.`,
      style: { paragraph: { indent: { left: INDENT * (level + 1), hanging: INDENT } } },
    }))
  const document = new Document({
    title: plain(title),
    creator: 'Wakeful',
    numbering: {
      config: [
        { reference: BULLETS, levels: levels('bullet') },
        { reference: NUMBERS, levels: levels('decimal') },
      ],
    },
    sections: [{ children: new Printer(docx).blocks(lexer(markdown, { gfm: true })) }],
  })
  return new Uint8Array(await Packer.toBuffer(document))
}

const plain = (text: string) => text.replaceAll(UNPRINTABLE, '')

class Printer {
  readonly #docx: Library
  #lists = 0

  constructor(docx: Library) {
    this.#docx = docx
  }

  blocks(tokens: readonly Token[], quoted = 0) {
    return tokens.flatMap((token) => this.#block(token, quoted))
  }

  #block(token: Token, quoted: number): InstanceType<Library['Paragraph'] | Library['Table']>[] {
    const { HeadingLevel, Paragraph } = this.#docx
    const indent = quoted === 0 ? {} : { indent: { left: INDENT * quoted } }
    switch (token.type) {
      case 'space':
      case 'def':
        return []
      case 'heading': {
        const level = `HEADING_${(token as Tokens.Heading).depth}` as keyof typeof HeadingLevel
        return [new Paragraph({ heading: HeadingLevel[level], children: this.#inline(token) })]
      }
      case 'hr':
        return [new Paragraph({ thematicBreak: true })]
      case 'code':
        return (token as Tokens.Code).text
          .split('\n')
          .map((line) => new Paragraph({ ...indent, children: [this.#run(line, MONO)] }))
      case 'blockquote':
        return this.blocks((token as Tokens.Blockquote).tokens, quoted + 1)
      case 'list':
        return this.#list(token as Tokens.List, 0)
      case 'table':
        return [this.#table(token as Tokens.Table)]
      default:
        return [
          new Paragraph({ ...indent, spacing: { after: 160 }, children: this.#inline(token) }),
        ]
    }
  }

  #list(list: Tokens.List, level: number): InstanceType<Library['Paragraph'] | Library['Table']>[] {
    // Each list starts at one.
    const instance = level === 0 ? ++this.#lists : this.#lists
    const numbering = {
      reference: list.ordered ? NUMBERS : BULLETS,
      level: Math.min(level, LEVELS - 1),
      instance,
    }
    return list.items.flatMap((item) => {
      const nested = item.tokens.filter(({ type }) => type === 'list') as Tokens.List[]
      const own = item.tokens.filter(({ type }) => type !== 'list')
      const mark = item.task ? [this.#run(item.checked ? '☑ ' : '☐ ', {})] : []
      const children = [...mark, ...own.flatMap((token) => this.#inline(token))]
      return [
        new this.#docx.Paragraph({ numbering, children }),
        ...nested.flatMap((each) => this.#list(each, level + 1)),
      ]
    })
  }

  #table({ header, rows }: Tokens.Table): InstanceType<Library['Table']> {
    const { Paragraph, Table, TableCell, TableRow, WidthType } = this.#docx
    const row = (cells: readonly Tokens.TableCell[], style: Style) =>
      new TableRow({
        children: cells.map(
          ({ tokens }) =>
            new TableCell({ children: [new Paragraph({ children: this.#runs(tokens, style) })] }),
        ),
      })
    return new Table({
      width: { size: 100, type: WidthType.PERCENTAGE },
      rows: [row(header, { bold: true }), ...rows.map((cells) => row(cells, {}))],
    })
  }

  #inline(token: Token): ParagraphChild[] {
    return 'tokens' in token && token.tokens !== undefined
      ? this.#runs(token.tokens, {})
      : [this.#run('text' in token ? String(token.text) : token.raw, {})]
  }

  #runs(tokens: readonly Token[], style: Style): ParagraphChild[] {
    return tokens.flatMap((token): ParagraphChild[] => {
      const inner = (more: Style) =>
        this.#runs((token as Tokens.Strong).tokens ?? [], { ...style, ...more })
      switch (token.type) {
        case 'strong':
          return inner({ bold: true })
        case 'em':
          return inner({ italics: true })
        case 'del':
          return inner({ strike: true })
        case 'codespan':
          return [this.#run((token as Tokens.Codespan).text, { ...style, ...MONO })]
        case 'br':
          return [new this.#docx.TextRun({ break: 1 })]
        case 'link':
        case 'image':
          return this.#link(token as Tokens.Link, style)
        default:
          return 'tokens' in token && token.tokens !== undefined
            ? inner({})
            : [this.#run('text' in token ? String(token.text) : token.raw, style)]
      }
    })
  }

  #link({ href, text, tokens }: Tokens.Link, style: Style): ParagraphChild[] {
    const children =
      tokens === undefined
        ? [this.#run(text === '' ? href : text, style)]
        : this.#runs(tokens, style)
    return SAFE.test(href)
      ? [new this.#docx.ExternalHyperlink({ link: plain(href), children })]
      : children
  }

  #run(text: string, style: Style) {
    return new this.#docx.TextRun({ text: plain(text), ...style })
  }
}
