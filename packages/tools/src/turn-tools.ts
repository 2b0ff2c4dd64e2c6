/**
 * The tools of a turn, for any model: what they set is this person's and this agent's, and is written with the turn or not at all. A
 * refusal is an answer, so that the model can correct itself. Together they are small, since every call of a model carries them.
 */
import type { Turn } from '../../../src/agents/function.ts'
import { errorText, Refusal } from '../../../src/core/errors.ts'
import { dayAndTime } from '../../../src/core/words.ts'
import { specFromWire } from '../../../src/features/schedules/spec.ts'
import { placeOf } from '../../companion/src/act.ts'
import { outputsText } from '../../companion/src/held.ts'
import { whyText } from '../../companion/src/replies.ts'

type Given = Readonly<Record<string, unknown>>

interface Definition {
  readonly description: string
  readonly properties: Readonly<Record<string, object>>
  readonly required: readonly string[]
  readonly run: (turn: Turn, given: Given) => string | Promise<string>
}

const text = (description?: string) => ({ type: 'string', ...(description ? { description } : {}) })
const texts = { type: 'array', items: { type: 'string' } }
const NAME = text('Short and stable, such as "dentist". The same name again replaces it.')

const WHEN = {
  type: 'object',
  description: 'One condition: price with above or below, silent_for, news, event, or calendar.',
  properties: {
    price: text('A ticker.'),
    above: { type: 'number' },
    below: { type: 'number' },
    silent_for: text('How long the user has not written: "2 days".'),
    news: { ...texts, description: 'Words of which a headline has one.' },
    event: { ...texts, description: 'Words of which a named event has one.' },
    calendar: { ...texts, description: 'Words of which the title of an entry has one.' },
    before: text('With calendar: "15 minutes".'),
  },
}

/** In every turn. */
const ALWAYS: Readonly<Record<string, Definition>> = {
  schedule: {
    description:
      "Wakes you later, to remind the user, look in again, watch or report. Give exactly one of in, at, every, when. Times are in the user's zone. What you only announce does not happen: schedule it.",
    properties: {
      name: NAME,
      in: text('How long from now: "10 minutes".'),
      at: text('Once: "tomorrow at 9am", or an ISO instant.'),
      every: text('Again and again: "weekday at 8:30", "2 hours", or cron.'),
      when: WHEN,
      note: text('What you are told then. Write all that you will need.'),
      cancel_on_reply: {
        type: 'boolean',
        description: 'With in or at: the next message of the user cancels it. For nudges.',
      },
      timezone: text("An IANA name, where it is not the user's zone."),
      until: text('With every or when: the last instant.'),
      times: { type: 'integer', description: 'With every or when: how often at most.' },
      run: text('Work of this executor instead of a wake.'),
      with: { type: 'object', description: 'With run: its parameters.' },
    },
    required: ['name'],
    run(turn, { name, ...spec }) {
      const { id, description, next, notes } = turn.schedule(name as string, specFromWire(spec))
      const { timeZone } = turn.person
      const times = next.map((at) => dayAndTime(at.getTime(), timeZone)).join(', ')
      const ahead = times === '' ? '' : ` Next: ${times} (${timeZone}).`
      return [`Scheduled "${id}": ${description}.${ahead}`, ...notes].join('\n')
    },
  },
  list_scheduled: {
    description: 'What is scheduled for the user by you: name, when, note.',
    properties: {},
    required: [],
    async run(turn) {
      const rows = await turn.scheduled()
      const lines = rows.map(({ ref, description, note, status, nextAt, timeZone }) => {
        const next = nextAt === null ? '' : `, next ${dayAndTime(nextAt.getTime(), timeZone)}`
        return `${ref}: ${description}${next} (${timeZone}, ${status}): ${note}`
      })
      return lines.length === 0 ? 'Nothing is scheduled.' : lines.join('\n')
    },
  },
  cancel_scheduled: {
    description: 'Cancels what is scheduled.',
    properties: { name: text('As list_scheduled shows it.') },
    required: ['name'],
    async run(turn, { name }) {
      const found = (await turn.scheduled()).find(({ ref }) => ref === name)
      if (found === undefined)
        throw new TypeError(
          `nothing is scheduled under ${JSON.stringify(name)}: see list_scheduled`,
        )
      turn.cancel(found.ref)
      return `Cancelled "${found.ref}": ${found.description}.`
    },
  },
  ask_user: {
    description:
      'Asks the user for a decision, with buttons where they have them. It is delivered as it stands; the answer comes in a later turn, so end this one.',
    properties: {
      question: text(),
      options: { ...texts, description: 'Yes and No by default.' },
      default: text('The option that counts when until has passed.'),
      until: text('"in 2 hours", or an instant.'),
    },
    required: ['question'],
    run(turn, { question, ...terms }) {
      turn.ask(question as string, terms)
      return 'Asked. The answer comes in a later turn.'
    },
  },
}

/** In a turn that no user message began: silence is a decision. */
const UNPROMPTED: Readonly<Record<string, Definition>> = {
  send_message: {
    description: 'Writes to the user, who has not written to you. It is delivered as it stands.',
    properties: { text: text() },
    required: ['text'],
    run(turn, { text }) {
      turn.say(text as string)
      return 'It is sent with the end of this turn. Do not repeat it.'
    },
  },
  stay_silent: {
    description: 'Sends nothing this time. The user does not see the reason.',
    properties: { reason: text() },
    required: ['reason'],
    run(turn, { reason }) {
      turn.silent(typeof reason === 'string' ? reason : undefined)
      return 'Nothing is sent.'
    },
  },
}

/** Where they are asked for. */
const MORE: Readonly<Record<string, Definition>> = {
  explain: {
    description: 'Why you wrote to the user recently without being asked, or did not.',
    properties: {},
    required: [],
    run: async (turn) => whyText(await turn.explained(), placeOf(turn)),
  },
  set_preferences: {
    description: 'Sets when the user may be contacted, as they said.',
    properties: {
      timezone: text('An IANA name.'),
      paused_until: text('An instant.'),
      most_unasked_per_day: { type: 'integer' },
    },
    required: [],
    run(turn, given) {
      turn.setPreferences(given)
      return 'Set with the end of this turn.'
    },
  },
  get_outputs: {
    description: 'The newest results of scheduled work.',
    properties: { name: text('As list_scheduled shows it.') },
    required: ['name'],
    async run(turn, { name }) {
      const found = (await turn.scheduled()).find((row) => row.ref === name && row.kind === 'work')
      if (found === undefined)
        throw new TypeError(
          `no work is scheduled under ${JSON.stringify(name)}: see list_scheduled`,
        )
      return outputsText((await turn.workOutputs(found.id)) ?? [], turn)
    },
  },
}

const ALL = { ...ALWAYS, ...UNPROMPTED, ...MORE }

export interface TurnToolOptions {
  /** Only those of the usual tools. */
  readonly only?: readonly string[]
  /** Beside them: `explain`, `set_preferences`, `get_outputs`. */
  readonly also?: readonly string[]
}

/** A tool of a turn, in no framework's shape. */
export interface TurnTool {
  readonly name: string
  readonly description: string
  readonly parameters: {
    readonly type: 'object'
    readonly properties: Readonly<Record<string, object>>
    readonly required: readonly string[]
  }
  run(args: unknown): Promise<string>
}

/** Whether a message of the user began this turn; then the model's text is the answer. */
export function isPrompted(turn: Turn): boolean {
  return turn.event.type === 'user_message'
}

export function toolsOfTurn(turn: Turn, { only, also = [] }: TurnToolOptions = {}): TurnTool[] {
  const unknown = [...(only ?? []), ...also].filter((name) => !Object.hasOwn(ALL, name))
  if (unknown.length > 0)
    throw new TypeError(
      `tools: there is no ${unknown.join(', ')}; there are ${Object.keys(ALL).join(', ')}`,
    )
  // A resumed run may hold calls of the turn that it began in.
  const mayDecide = !isPrompted(turn) || 'pending' in turn.state
  const usual = { ...ALWAYS, ...(mayDecide ? UNPROMPTED : {}) }
  // Where a model has to decide, it can: these are never left out.
  const names = Object.keys(usual).filter(
    (name) => name in UNPROMPTED || (only?.includes(name) ?? true),
  )
  return [...names, ...also.filter((name) => name in MORE)].map((name) => bound(turn, name))
}

function bound(turn: Turn, name: string): TurnTool {
  const { description, properties, required, run } = ALL[name] as Definition
  return {
    name,
    description,
    parameters: { type: 'object', properties, required },
    async run(args) {
      try {
        return await run(turn, argumentsOf(args))
      } catch (error) {
        // Report the model's mistakes to it; anything else is our own bug.
        if (error instanceof Refusal) return refused(error.errors)
        if (error instanceof TypeError) return refused([errorText(error, 500)])
        throw error
      }
    },
  }
}

function refused(errors: readonly string[]): string {
  return `Refused, nothing was changed:\n${errors.map((error) => `- ${error}`).join('\n')}`
}

/** Without null and empty fields: models send every field they know. */
function argumentsOf(args: unknown): Given {
  const given = args ?? {}
  if (typeof given !== 'object' || Array.isArray(given))
    throw new TypeError('arguments must be an object')
  const { when, ...rest } = given as Given
  const condition = typeof when === 'object' && when !== null ? said(when) : when
  return said({ ...rest, when: isEmpty(condition) ? null : condition })
}

function said(given: object): Given {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => !isUnsaid(value)))
}

const isUnsaid = (value: unknown) => value === undefined || value === null || value === ''
const isEmpty = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0
