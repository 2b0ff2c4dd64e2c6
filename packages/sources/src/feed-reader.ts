/**
 * Reads RSS 2.0, RSS 1.0 and Atom into items. The parser resolves nothing: no entities but the known letters,
 * no document types, nothing from elsewhere. Depth and number of elements are bounded.
 */
import { SaxesParser, type SaxesTagNS } from 'saxes'
import { SourceError } from '../../../src/features/intents/source.ts'
import { ENTITIES } from './plain.ts'

export interface FeedItem {
  /** The feed's own id. */
  id?: string
  title?: string
  link?: string
  date?: string
  body?: string
}

const DEPTH_MAX = 64
const ELEMENTS_MAX = 200_000
const ITEMS_MAX = 1000
const ATOM = 'http://www.w3.org/2005/Atom'
const DUBLIN_CORE = 'http://purl.org/dc/elements/1.1/'
const CONTENT = 'http://purl.org/rss/1.0/modules/content/'
const RSS = new Set([
  '',
  'http://purl.org/rss/1.0/',
  'http://my.netscape.com/rdf/simple/0.9/',
  'http://backend.userland.com/rss2',
])
/** Errors of real feeds that are tolerated: an unknown entity, an undeclared prefix. */
const FORGIVEN = /entity|unbound namespace|namespace prefix/i
const ROOTS = new Set(['rss', 'RDF', 'feed'])

type Field = keyof FeedItem

/** Which field an element fills, and how good it is at that: a better one is not overwritten. */
function fieldOf({ uri, local }: SaxesTagNS): readonly [Field, number] | null {
  if (uri === DUBLIN_CORE) return local === 'date' ? ['date', 2] : null
  if (uri === CONTENT) return local === 'encoded' ? ['body', 1] : null
  if (uri === ATOM) return ATOM_FIELDS[local] ?? null
  return RSS.has(uri) ? (RSS_FIELDS[local] ?? null) : null
}

const ATOM_FIELDS: Readonly<Record<string, readonly [Field, number]>> = {
  ...{ id: ['id', 3], title: ['title', 3], published: ['date', 3], updated: ['date', 1] },
  ...{ summary: ['body', 3], content: ['body', 2] },
}
const RSS_FIELDS: Readonly<Record<string, readonly [Field, number]>> = {
  ...{ guid: ['id', 3], title: ['title', 3], link: ['link', 3], pubDate: ['date', 3] },
  ...{ description: ['body', 3] },
}

/** Everything between two places of the text, as the elements go by. */
class Reading {
  readonly items: FeedItem[] = []
  #rank = new Map<Field, number>()
  #item: FeedItem | null = null
  #itemDepth = 0
  #field: Field | null = null
  #fieldRank = 0
  #fieldDepth = 0
  #text = ''
  #depth = 0
  #elements = 0

  open(tag: SaxesTagNS): void {
    this.#depth++
    if (this.#depth === 1 && !ROOTS.has(tag.local))
      throw new SourceError(`the answer is no feed: its root is <${tag.name.slice(0, 40)}>`)
    if (this.#depth > DEPTH_MAX)
      throw new SourceError(`the feed is nested deeper than ${DEPTH_MAX}`)
    if (++this.#elements > ELEMENTS_MAX)
      throw new SourceError(`the feed has more than ${ELEMENTS_MAX} elements`)
    if (this.#item === null && (tag.local === 'item' || tag.local === 'entry')) this.#begin(tag)
    else if (this.#field === null) this.#enter(tag)
  }

  #begin(tag: SaxesTagNS): void {
    this.#item = {}
    this.#itemDepth = this.#depth
    this.#rank = new Map()
    const about = attribute(tag, 'about')
    if (about !== undefined) this.#set('id', about, 1)
  }

  #enter(tag: SaxesTagNS): void {
    // Only children of an item: its author's name or its source's title does not count.
    if (this.#item === null || this.#depth !== this.#itemDepth + 1) return
    if (tag.uri === ATOM && tag.local === 'link') this.#link(tag)
    const found = fieldOf(tag)
    if (found === null) return
    ;[this.#field, this.#fieldRank] = found
    this.#fieldDepth = this.#depth
    this.#text = ''
  }

  #link(tag: SaxesTagNS): void {
    const rel = attribute(tag, 'rel') ?? 'alternate'
    const href = attribute(tag, 'href')
    if (rel === 'alternate' && href !== undefined) this.#set('link', href, 2)
  }

  text(text: string): void {
    if (this.#field !== null) this.#text += text
  }

  close(): void {
    if (this.#field !== null && this.#depth === this.#fieldDepth) {
      this.#set(this.#field, this.#text, this.#fieldRank)
      this.#field = null
    }
    if (this.#item !== null && this.#depth === this.#itemDepth) {
      if (this.items.length < ITEMS_MAX) this.items.push(this.#item)
      this.#item = null
    }
    this.#depth--
  }

  #set(field: Field, value: string, rank: number): void {
    if (this.#item === null || value.trim() === '' || (this.#rank.get(field) ?? 0) >= rank) return
    this.#rank.set(field, rank)
    this.#item[field] = value.trim()
  }
}

function attribute(tag: SaxesTagNS, local: string): string | undefined {
  return Object.values(tag.attributes).find((each) => each.local === local)?.value
}

export function readFeed(text: string): readonly FeedItem[] {
  const parser = new SaxesParser({ xmlns: true })
  const reading = new Reading()
  for (const [name, letter] of Object.entries(ENTITIES)) parser.ENTITIES[name] ??= letter
  parser.on('error', (error) => {
    if (!FORGIVEN.test(error.message)) throw new SourceError(`the feed is no XML: ${error.message}`)
  })
  parser.on('doctype', (doctype) => {
    if (/<!ENTITY/i.test(doctype))
      throw new SourceError('the feed declares entities, which are not read')
  })
  parser.on('opentag', (tag) => reading.open(tag))
  parser.on('closetag', () => reading.close())
  parser.on('text', (piece) => reading.text(piece))
  parser.on('cdata', (piece) => reading.text(piece))
  parser.write(text.replace(/^[\ufeff\s]+/, '')).close()
  return reading.items
}
