/** One field of a cron expression: text to a set of numbers, a star flag, and its canonical text. */

import { ScheduleError } from './schedule.ts'

export interface FieldRule {
  name: string
  min: number
  max: number
  names: readonly string[]
  /** The number that `names[0]` stands for. */
  namesFrom: number
}

interface Field {
  /** Ascending, without duplicates. */
  values: number[]
  /** A `*` stands in the text, with or without a step. */
  star: boolean
  /** A bare `*` (or `?`): the field restricts nothing. */
  any: boolean
  text: string
}

export const MONTH_NAMES = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
export const DAY_NAMES = 'sun mon tue wed thu fri sat'.split(' ')

export const MINUTE_RULE: FieldRule = { name: 'minute', min: 0, max: 59, names: [], namesFrom: 0 }
export const HOUR_RULE: FieldRule = { name: 'hour', min: 0, max: 23, names: [], namesFrom: 0 }
export const DOM_RULE: FieldRule = {
  name: 'day-of-month',
  min: 1,
  max: 31,
  names: [],
  namesFrom: 1,
}
export const MONTH_RULE: FieldRule = {
  name: 'month',
  min: 1,
  max: 12,
  names: MONTH_NAMES,
  namesFrom: 1,
}
/** 7 is Sunday too; it is folded to 0 once the range is known. */
export const DOW_RULE: FieldRule = {
  name: 'day-of-week',
  min: 0,
  max: 7,
  names: DAY_NAMES,
  namesFrom: 0,
}

function bounds(rule: FieldRule): string {
  const sample =
    rule.names.length > 0 ? ` or names such as ${rule.names[1]?.toUpperCase() ?? ''}` : ''
  return `${rule.min}-${rule.max}${sample}`
}

function complain(rule: FieldRule, term: string, why: string): ScheduleError {
  return new ScheduleError(`${rule.name} field: ${JSON.stringify(term)} ${why}`)
}

/** A number of at most four ASCII digits; `NaN` for anything else. */
export function digits(text: string): number {
  return /^[0-9]{1,4}$/.test(text) ? Number(text) : Number.NaN
}

export function readValue(rule: FieldRule, text: string, term: string): number {
  const named = rule.names.indexOf(text.toLowerCase())
  const value = named >= 0 ? named + rule.namesFrom : digits(text)
  if (Number.isNaN(value)) throw complain(rule, term, `is not understood; write ${bounds(rule)}`)
  if (value < rule.min || value > rule.max) {
    throw complain(rule, term, `is out of range; write ${bounds(rule)}`)
  }
  return value
}

function readStep(rule: FieldRule, text: string, term: string): number {
  const step = digits(text)
  if (Number.isNaN(step) || step < 1) {
    throw complain(rule, term, 'needs a whole step of at least 1, for example */5')
  }
  if (step > rule.max) {
    throw complain(
      rule,
      term,
      `has a step larger than the field (${rule.max}); for longer intervals write @every, for example "@every 1h30m"`,
    )
  }
  return step
}

interface Term {
  from: number
  to: number
  step: number
  star: boolean
}

function readTerm(rule: FieldRule, term: string): Term {
  const [base = '', stepText, ...more] = term.split('/')
  if (more.length > 0 || base === '') {
    throw complain(rule, term, `is not understood; write ${bounds(rule)}, ranges a-b, steps */n`)
  }
  const step = stepText === undefined ? 1 : readStep(rule, stepText, term)
  const last = rule === DOW_RULE ? 6 : rule.max
  if (base === '*') return { from: rule.min, to: last, step, star: true }
  const [low = '', high, ...rest] = base.split('-')
  if (rest.length > 0) throw complain(rule, term, 'is not a range; write a-b')
  const from = readValue(rule, low, term)
  if (high !== undefined) return { from, to: readValue(rule, high, term), step, star: false }
  // `N/step` runs from N to the end of the field.
  return { from, to: stepText === undefined ? from : last, step, star: false }
}

function expand(rule: FieldRule, { from, to, step }: Term): number[] {
  const isDow = rule === DOW_RULE
  const start = isDow && from === 7 ? 0 : from
  const stop = isDow && from === 7 && to === 7 ? 0 : to
  const size = isDow ? 7 : rule.max - rule.min + 1
  // A range whose end lies before its start wraps around: fri-sun, 22-4.
  const end = stop < start ? stop + size : stop
  const values: number[] = []
  for (let v = start; v <= end; v += step) values.push(((v - rule.min) % size) + rule.min)
  return values
}

/** A sorted set as the shortest usual text: runs of three or more become ranges. */
export function setText(values: readonly number[]): string {
  const parts: string[] = []
  for (let i = 0; i < values.length; ) {
    const first = values[i] ?? 0
    let j = i
    while (values[j + 1] === (values[j] ?? 0) + 1) j += 1
    const last = values[j] ?? first
    if (j - i >= 2) parts.push(`${first}-${last}`)
    else parts.push(...values.slice(i, j + 1).map(String))
    i = j + 1
  }
  return parts.join(',')
}

/**
 * The terms of one field. Terms with a star keep their spelling, because `0,15,30,45` and `*` + `/15` differ on
 * days when the clocks change; everything else becomes its sorted set.
 */
export function readField(rule: FieldRule, terms: readonly string[]): Field {
  const values = new Set<number>()
  const starred = new Set<string>()
  const plain = new Set<number>()
  let any = false
  for (const text of terms) {
    const term = readTerm(rule, text)
    any ||= term.star && term.step === 1
    if (term.star) starred.add(term.step === 1 ? '*' : `*/${term.step}`)
    for (const value of expand(rule, term)) {
      values.add(value)
      if (!term.star) plain.add(value)
    }
  }
  const ascending = (set: Set<number>) => [...set].sort((a, b) => a - b)
  const rest = setText(ascending(plain))
  return {
    values: ascending(values),
    star: starred.size > 0,
    any,
    text: any ? '*' : [...starred, ...(rest === '' ? [] : [rest])].join(','),
  }
}
