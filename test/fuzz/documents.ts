/** Feeds and calendars with bytes changed, left out and doubled: read in time, or refused in words. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { calendarSource } from '../../packages/sources/src/calendar.ts'
import { feedSource } from '../../packages/sources/src/feed.ts'
import { SourceError, type Visit } from '../../src/features/intents/source.ts'
import { Stopwatch } from '../faults/measure.ts'
import { Generator } from './generate.ts'

const fixture = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../sources/fixtures/${name}`, import.meta.url)), 'utf8')
const NOW = new Date('2026-01-15T09:00:00Z')
const PIECES = [
  'RRULE:FREQ=SECONDLY;INTERVAL=1;COUNT=2147483647\r\n',
  'RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30\r\n',
  'DTSTART:00000101T000000Z\r\n',
  'DTSTART;TZID=Mars/Olympus:20260115T090000\r\n',
  'EXDATE:20260115T090000Z\r\n',
  '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
  '<item>&b;&b;&b;&b;</item>',
  '<![CDATA[',
  ']]>',
  '<item><title>',
  '<!--',
  'BEGIN:VEVENT\r\n',
  'END:VCALENDAR\r\n',
  '&#x0;',
  '&#xffffffff;',
]

export async function documents(random: () => number, count: number) {
  const g = new Generator(random)
  const kinds = [
    {
      source: feedSource({ url: 'https://feeds.example/f' }),
      texts: ['atom.xml', 'rss1.rdf', 'rss2.xml'].map(fixture),
    },
    {
      source: calendarSource({ url: 'https://calendars.example/c' }),
      texts: [fixture('team.ics')],
    },
  ]
  const thrown: string[] = []
  let slowestMs = 0
  for (let n = 0; n < count; n++) {
    const { source, texts } = g.one(kinds)
    const text = g.one(texts)
    const at = g.whole(text.length)
    const made = g.mangled(
      g.chance(0.5) ? text.slice(0, at) + g.one(PIECES) + text.slice(at) : text,
    )
    const watch = new Stopwatch()
    try {
      await source.poll(visitOf(made))
    } catch (error) {
      if (!(error instanceof SourceError))
        thrown.push(`${source.kind}: ${(error as Error).stack?.slice(0, 300)}`)
    }
    slowestMs = Math.max(slowestMs, watch.ms)
  }
  return { tried: count, slowestMs, thrown }
}

function visitOf(text: string): Visit {
  const got = { body: Buffer.from(text), contentType: 'text/plain' }
  return {
    now: NOW,
    signal: new AbortController().signal,
    told: null,
    getIfChanged: async () => got,
    get: async () => got,
    tickers: async () => [],
    warn: () => undefined,
  }
}
