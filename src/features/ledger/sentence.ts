/** What became of a slot, in one sentence and in somebody's zone. Pure. */

import { formatLocal } from '../../../packages/schedule/src/index.ts'
import { spanText } from '../../core/span.ts'
import { DEFER_RULES } from '../people/preferences.ts'
import { RULE_WORDS } from '../people/words.ts'
import type { Reason, Silence } from '../sessions/gate.ts'
import type { Cause, EventFacts, Judged, LedgerKind, SlotFacts } from './rules.ts'

export interface Told extends Judged {
  readonly kind: LedgerKind
  readonly facts: SlotFacts
  readonly at: Date
  readonly scheduledFor?: Date | null
  readonly endedAt: Date | null
  readonly missedCount: number
  readonly attempts: number
}

const ERROR_MAX = 300

export function slotWords(told: Told, timezone: string, now: Date): string {
  const clock = (at: Date) => clockText(at, timezone, now)
  const covered =
    told.missedCount === 0
      ? ''
      : ` It also stands for ${counted(told.missedCount, 'slot')} that passed meanwhile.`
  return `${sentence(told, clock)}.${lateWords(told)}${covered}`
}

/** Less is told by the clock alone. */
const LATE_MS = 60_000

/** Of a slot whose turn began late: after downtime or a pause, or because its agent takes only so many turns a minute. */
function lateWords({ facts, scheduledFor = null }: Told): string {
  if (facts.from !== 'event' || facts.deferred != null || scheduledFor === null) return ''
  const [first] = facts.turns
  const ms = first === undefined ? 0 : first.startedAt.getTime() - scheduledFor.getTime()
  return ms < LATE_MS ? '' : ` It began ${spanText(ms)} late.`
}

type Clock = (at: Date) => string

function sentence(told: Told, clock: Clock): string {
  const { facts, reason } = told
  const when = clock(told.endedAt ?? told.at)
  switch (told.outcome) {
    case 'delivered':
      return deliveredWords(told, when)
    case 'sent':
      return `Sent at ${clock(lastTurnAt(facts) ?? told.at)}${reasonWords(facts)}${deferredWords(facts)}${unbackedWords(facts)}, not yet received${waitWords(facts)}`
    case 'silent':
      return reason?.rule === 'record_pruned'
        ? `Ended at ${when}; what came of it is no longer kept`
        : silentWords(facts, when)
    case 'suppressed':
      return `Held back at ${when}: ${ruleWords(reason, clock)}`
    case 'deferred':
      return `Deferred at ${clock(lastTurnAt(facts) ?? told.at)}: ${ruleWords(reason, clock, true)}`
    case 'missed':
      return missedWords(facts, when, clock)
    case 'postponed':
      return `Held back at ${when}: ${ruleWords(reason, clock)}; to be tried again`
    case 'condition_false':
      return `Checked at ${when}${repeatWords(facts)}: ${conditionWords(facts, reason)}`
    case 'expired':
      return reason?.rule === 'condition_gone'
        ? `Expired: its condition no longer held when its moment came, at ${when}`
        : `Expired: its expires_at had passed when it was looked at, at ${when}`
    case 'failed':
      return `Failed at ${when}${attemptWords(told.attempts)}: ${errorWords(told, reason)}`
    case 'cancelled':
      return cancelledWords(told, when)
    case 'pending':
      return pendingWords(told, clock)
  }
}

function deliveredWords({ facts, attempts, reason }: Told, when: string): string {
  if (reason?.rule === 'output_deleted')
    return `Completed at ${when}; deleted since, with its output`
  const waited = facts.from === 'event' && facts.deferred != null
  const tries = attempts > 1 && !waited ? `, at attempt ${attempts}` : ''
  if (facts.from === 'wake') return `Taken by the receiver at ${when}${tries}`
  if (facts.from === 'check') return `Reported as done at ${when}`
  const output = facts.from === 'event' ? facts.output : undefined
  if (output === undefined || output === null) {
    const held = facts.from === 'event' ? heldBack(facts) : 0
    const rest = held === 0 ? '' : `; ${counted(held, 'further message')} held back`
    return `Delivered at ${when}${reasonWords(facts)}${deferredWords(facts)}${unbackedWords(facts)}${tries}${wayWords(facts)}${rest}`
  }
  const title = output.title === null ? '' : `: ${JSON.stringify(output.title)}`
  return `Run ${output.runNumber} completed at ${when}${title}`
}

function silentWords(facts: SlotFacts, when: string): string {
  const verdicts = facts.from === 'event' ? (facts.turns.at(-1)?.verdicts ?? []) : []
  const silence = verdicts.find(({ rule }) => rule === 'silent' || rule === 'undecided')
  const { rule, reason = '', text = '' } = (silence ?? {}) as Partial<Silence>
  const wrote = text === '' ? '' : `; it wrote, not delivered: ${JSON.stringify(cut(text))}`
  if (rule === 'undecided')
    return `The agent ran at ${when} and chose neither to send a message nor to stay silent${wrote}`
  if (rule === undefined) return `The agent ran at ${when} and had nothing to say`
  return `The agent stayed silent at ${when}${reason === '' ? '' : `: ${cut(reason)}`}${wrote}`
}

const AS: Readonly<Record<Reason, string>> = {
  answer: ' as an answer',
  follow_up: ' as a follow-up',
  promise: ' as promised',
  notice: ' as a notice',
}

function reasonWords(facts: SlotFacts): string {
  const [message] = facts.from === 'event' ? facts.messages : []
  return message === undefined ? '' : AS[message.reason]
}

/** Said where it went another way than it was meant to. */
function wayWords(facts: SlotFacts): string {
  const [message] = facts.from === 'event' ? facts.messages : []
  const { channel = null, detours = [] } = message ?? {}
  if (channel === null || detours.length === 0) return ''
  const before = detours.map(({ channel, outcome, error }) => `${channel}: ${error ?? outcome}`)
  return `, by ${channel} (${cut(before.join('; '))})`
}

function waitWords(facts: SlotFacts): string {
  const [message] = facts.from === 'event' ? facts.messages : []
  const last = message?.detours?.at(-1)
  return last?.outcome === 'closed' ? `: ${last.channel} takes nothing before they write there` : ''
}

/** It announces something that nothing was set for. */
function unbackedWords(facts: SlotFacts): string {
  const verdicts = facts.from === 'event' ? (facts.turns.at(-1)?.verdicts ?? []) : []
  return verdicts.some(({ rule }) => rule === 'unbacked')
    ? ' (nothing was set for what it says will come)'
    : ''
}

/** What it waited for, and with how many others it came. */
function deferredWords(facts: SlotFacts): string {
  const deferred = facts.from === 'event' ? facts.deferred : null
  if (deferred === null || deferred === undefined) return ''
  const others = deferred.together - 1
  const together = others > 0 ? `, together with ${counted(others, 'other')}` : ''
  return `, deferred before (${RULE_WORDS[deferred.rule]})${together}`
}

function missedWords(facts: SlotFacts, when: string, clock: Clock): string {
  const { slots, last } = facts.from === 'missed' ? facts : { slots: 1, last: null }
  const span = slots > 1 && last !== null ? `, the last of them of ${clock(last)}` : ''
  return `Given up at ${when}: the time of ${counted(slots, 'slot')} had passed${span}`
}

function heldBack({ turns }: EventFacts): number {
  return (turns.at(-1)?.verdicts ?? []).filter(({ allowed }) => !allowed).length
}

/** `comes`: what was held back comes at its end. */
function ruleWords(reason: Cause | null, clock: Clock, comes = false): string {
  const { rule = 'a limit', count, max, until } = reason ?? {}
  if (rule === 'hard_cap_reached' && count !== undefined && max !== undefined)
    return `${counted(count, 'unanswered follow-up')} in a row, cap ${max}`
  if (rule === 'cooldown_active' && until !== undefined) return `cooling down until ${clock(until)}`
  const known = DEFER_RULES.find((each) => each === rule)
  if (known !== undefined) {
    const numbers = count === undefined || max === undefined ? '' : `, ${count} of ${max}`
    const then =
      until === undefined ? '' : comes ? `; comes at ${clock(until)}` : `, until ${clock(until)}`
    return `${RULE_WORDS[known]}${numbers}${then}`
  }
  const from = until === undefined ? '' : ` until ${clock(until)}`
  return `${cut(rule.replaceAll('_', ' '))}${from}`
}

function repeatWords(facts: SlotFacts): string {
  const repeats = facts.from === 'check' ? facts.repeats : 1
  return repeats === 1 ? '' : ` (${repeats} times in a row)`
}

/** What was seen, for the kinds that look at something; the names are those of the check's own record. */
function conditionWords(facts: SlotFacts, reason: Cause | null): string {
  const seen = facts.from === 'check' ? (facts.seen ?? {}) : {}
  const why = REASONS[reason?.rule ?? ''] ?? (reason?.rule ?? 'not met').replaceAll('_', ' ')
  const { ticker, price, operator, value, silent_hours, threshold_hours } = seen
  if (typeof ticker === 'string') {
    const is = typeof price === 'number' ? `was ${price}` : 'has no known price'
    return `${cut(ticker)} ${is}, waiting for ${cut(String(operator ?? ''))} ${cut(String(value ?? ''))} (${why})`
  }
  if (typeof silent_hours === 'number')
    return `silent for ${silent_hours} of ${String(threshold_hours)} hours (${why})`
  return why
}

const REASONS: Readonly<Record<string, string>> = {
  unknown: 'nothing is known yet',
  stale: 'what is known is too old',
  false: 'the condition does not hold',
  still_true: 'it has fired for this already',
  nothing_new: 'nothing new',
  condition_not_met: 'the condition does not hold',
  reported_not_met: 'reported as not met',
}

function attemptWords(attempts: number): string {
  return attempts > 1 ? ` after ${attempts} attempts` : ''
}

function errorWords({ facts }: Told, reason: Cause | null): string {
  const error = reason?.error === undefined ? 'no reason was given' : cut(reason.error)
  if (reason?.rule === 'delivery_failed') return `the message could not be delivered (${error})`
  return facts.from === 'wake' ? `the receiver did not take it (${error})` : error
}

function cancelledWords({ kind, facts, reason, attempts }: Told, when: string): string {
  if (facts.from === 'cancel' && facts.answer !== undefined)
    return `Answered at ${when}: ${JSON.stringify(facts.answer)}`
  if (kind === 'question') return `Withdrawn at ${when}, before it was answered`
  if (facts.from === 'cancel' && kind === 'timer')
    return `Cancelled at ${when}, before it was due: the user spoke, or it was called off`
  if (reason?.rule === 'stopped') return `Dropped at ${when}: a stop held it, and it was dropped`
  if (reason?.rule === 'cancelled_while_calling')
    return `Cancelled at ${when}, while its receiver was being called`
  return attempts > 0 && reason?.rule === 'cancelled_between_attempts'
    ? `Cancelled after ${counted(attempts, 'failed attempt')}`
    : `Cancelled at ${when}, before anything was sent`
}

function pendingWords({ facts, reason, attempts, at }: Told, clock: Clock): string {
  if (reason?.rule === 'attempt_failed') {
    const next = reason.until === undefined ? 'soon' : `at ${clock(reason.until)}`
    return `Attempt ${attempts} failed (${cut(reason.error ?? 'no reason was given')}); the next is ${next}`
  }
  const running = facts.from === 'event' && facts.output?.status === 'running'
  return running ? `Running since ${clock(at)}` : `Waits for its turn since ${clock(at)}`
}

function lastTurnAt(facts: SlotFacts): Date | undefined {
  return facts.from === 'event' ? facts.turns.at(-1)?.finishedAt : undefined
}

/** `21:04` today, `2026-11-16 21:04` on any other day. */
function clockText(at: Date, timezone: string, now: Date): string {
  const [date, time = ''] = formatLocal(at.getTime(), timezone).split(' ')
  const [today] = formatLocal(now.getTime(), timezone).split(' ')
  return date === today ? time : `${date} ${time}`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function cut(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > ERROR_MAX ? `${line.slice(0, ERROR_MAX - 1)}…` : line
}
