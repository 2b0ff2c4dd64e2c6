/**
 * `research`: searches first, then answers. A chat model writes the answer from the findings and names its sources;
 * without a model the output is the list of findings.
 */

import type { Executor, WorkResult, WorkRun } from '../../../src/agents/executor.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import type { ChatModel } from '../../model/src/model.ts'
import { formatLocal } from '../../schedule/src/index.ts'
import { type Brief, briefOf, FORM, filed, write } from './chat.ts'
import { canLook, type Finding, type Looked, look, type Places, withPages } from './look.ts'
import { markdownText } from './report/document.ts'

const SYSTEM = `You are a careful researcher. You answer one research task with a report that the reader can act on.
Build it so: a summary of two to four sentences with the answer first; findings, each with what supports it; what speaks against them or is disputed; what is uncertain or could not be found out; what to look at next.
The sources given were looked up for this task just now; you cannot open others. Rest on them and, beyond them, on what is generally known, and say which is which. Name a source by its number, as in [2]; a list of them is added for you. Never invent a source, a quotation, a figure or a link. Where facts may have changed since you learned them, say so.
${FORM}`

export function research(model: ChatModel, places: Places): Executor {
  return async (run) => {
    if (model.missing !== null && !canLook(places))
      throw new TerminalError(
        `research: ${model.missing}; to look without a model set WAKEFUL_FEEDS or WAKEFUL_SEARCH_URL`,
      )
    const brief = briefOf(run)
    run.progress(0.05, canLook(places) ? 'looking' : 'asking the model')
    const looked = await look(run.task, places, run.signal)
    if (model.missing !== null) return listed(run, brief, looked, places)
    return answered(run, brief, looked, { model, places })
  }
}

async function answered(
  run: WorkRun,
  brief: Brief,
  looked: Looked,
  { model, places }: { model: ChatModel; places: Places },
): Promise<WorkResult> {
  if (looked.findings.length > 0) run.progress(0.2, `reading ${looked.findings.length} found`)
  const { findings, read } = await withPages(looked.findings, places, run.signal)
  const given = brief.sources.length
  const sources = findings.map((finding) => sourceText(finding, run.timezone))
  const result = await write(run, model, SYSTEM, {
    ...brief,
    sources: [...brief.sources, ...sources],
  })
  const parts = [
    result.content,
    ...(findings.length === 0 ? [] : [sourceList(findings, given, run.timezone)]),
    ...troubleText(looked),
  ]
  const metadata = { ...result.metadata, ...figures(looked, places), pages_read: read }
  return filed({ ...result, content: parts.join('\n'), metadata }, brief.format)
}

function sourceText({ title, url, at, text }: Finding, timezone: string): string {
  const when = at === null ? '' : `\nDate: ${formatLocal(at.getTime(), timezone)}`
  return `${title}${url === null ? '' : `\n${url}`}${when}\n${text}`
}

function sourceList(findings: readonly Finding[], given: number, timezone: string): string {
  const lines = findings.map(
    (finding, index) => `${given + index + 1}. ${findingLine(finding, timezone)}`,
  )
  return ['## Sources', '', ...lines, ''].join('\n')
}

function listed(run: WorkRun, brief: Brief, looked: Looked, places: Places): Promise<WorkResult> {
  const [line = ''] = run.task.trim().split('\n', 1)
  const { findings } = looked
  const title = `Found: ${line}`.slice(0, 200)
  const items = findings.flatMap((finding) => {
    const words = markdownText(finding.text.slice(0, 300))
    return [`- ${findingLine(finding, run.timezone)}`, ...(words === '' ? [] : [`  ${words}`])]
  })
  const content = [
    `# ${markdownText(title)}`,
    '',
    findings.length === 0
      ? `Nothing was found in ${placesText(places)}.`
      : `${findings.length} found in ${placesText(places)}. No chat model is set, so this is the list of what was found, not an answer.`,
    '',
    ...items,
    ...(items.length === 0 ? [] : ['']),
    ...troubleText(looked),
  ].join('\n')
  return filed({ title, content, metadata: figures(looked, places) }, brief.format)
}

function findingLine({ title, url, at }: Finding, timezone: string): string {
  // Characters that a URL within <…> must not contain.
  const href = url?.replaceAll(/[<>\s]/g, encodeURIComponent)
  const named = href === undefined ? markdownText(title) : `[${markdownText(title)}](<${href}>)`
  return `${named}, ${at === null ? 'without a date' : formatLocal(at.getTime(), timezone)}`
}

function placesText({ feeds, search }: Places): string {
  const kinds = [
    ...(search === null ? [] : ['a search']),
    ...(feeds.length === 0 ? [] : [feeds.length === 1 ? 'one feed' : `${feeds.length} feeds`]),
  ]
  return kinds.join(' and ')
}

function troubleText({ troubles }: Looked): string[] {
  if (troubles.length === 0) return []
  return [markdownText(`Could not be read: ${troubles.join('; ')}.`), '']
}

function figures({ findings, troubles }: Looked, { feeds, search }: Places) {
  return {
    found: findings.length,
    sources: findings.flatMap(({ url }) => url ?? []),
    looked_in: { feeds: feeds.length, search: search !== null, failed: troubles.length },
  }
}
