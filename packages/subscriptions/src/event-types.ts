/**
 * What somebody outside can be told of (MCP Events): for each name what may be asked for, and what is told. All of it is
 * read from what the engine writes anyway.
 */
import { z } from 'zod'
import { keyPart, shortName } from '../../../src/core/fields.ts'
import { REASONS } from '../../../src/features/sessions/gate.ts'

export const EVENT_NAMES = [
  'alarm.due',
  'intent.met',
  'work.finished',
  'slot.missed',
  'message.for_person',
] as const
export type EventName = (typeof EVENT_NAMES)[number]

export interface EventDefinition {
  readonly description: string
  /** Takes the arguments of a subscription. */
  readonly input: z.ZodObject
  /** The shape of what is told. */
  readonly payload: z.ZodObject
}

const LABEL_MAX = 256

const userId = keyPart
  .optional()
  .describe('Whose. Left out: of the credentials; admin and service may name anybody.')
const agentId = keyPart.optional().describe('Of this agent only.')
const whose = {
  user_id: z.string(),
  agent_id: z.string().describe('Empty where no agent of this server was woken.'),
  thread_id: z.string(),
}
const slot = {
  scheduled_for: z.iso.datetime().describe('The nominal instant.'),
  missed_count: z.int().describe('How many further slots had passed by then.'),
}

export const EVENT_TYPES: Readonly<Record<EventName, EventDefinition>> = {
  'alarm.due': {
    description:
      'An alarm is due: told when its time has come, once for each slot, whatever comes of waking its agent.',
    input: z.strictObject({
      user_id: userId,
      agent_id: agentId,
      alarm_id: z.uuid().optional().describe('This alarm only.'),
      label: z.string().min(1).max(LABEL_MAX).optional().describe('Alarms with this label only.'),
    }),
    payload: z.object({
      ...{ alarm_id: z.uuid(), label: z.string(), wake_message: z.string(), payload: z.unknown() },
      ...{ ...slot, ...whose },
    }),
  },
  'intent.met': {
    description:
      'The condition or the time of an intent that Wakeful runs is met, once for each time it fires.',
    input: z.strictObject({
      user_id: userId,
      agent_id: agentId,
      intent_id: z.uuid().optional().describe('This intent only.'),
      trigger_type: z
        .enum(['cron', 'interval', 'once', 'price', 'silence', 'event', 'calendar', 'news'])
        .optional()
        .describe('Intents that wait for this only.'),
    }),
    payload: z.object({
      ...{ intent_id: z.uuid(), intent_name: z.string(), trigger_type: z.string() },
      trigger_data: z.unknown().describe('What was seen.'),
      action_context: z.string(),
      ...{ ...slot, ...whose },
    }),
  },
  'work.finished': {
    description: 'A run of work has ended, with its result or with an error.',
    input: z.strictObject({
      user_id: userId,
      work_id: z.uuid().optional().describe('This work only.'),
      agent_type: shortName.optional().describe('Work of this executor only.'),
      status: z.enum(['completed', 'failed']).optional(),
    }),
    payload: z.object({
      ...{ work_id: z.uuid(), output_id: z.uuid(), run_number: z.int() },
      status: z.enum(['completed', 'failed']),
      title: z.string().nullable(),
      content: z.string().nullable().describe('Its beginning, where it is long.'),
      error: z.string().nullable(),
      file_url: z.string().nullable(),
      ...{ ...slot, user_id: z.string(), agent_type: z.string() },
    }),
  },
  'slot.missed': {
    description:
      'Slots of something recurring passed unused, because nothing ran or a run took too long: told with the slot that stands for them.',
    input: z.strictObject({
      user_id: userId,
      agent_id: agentId,
      trigger: z.enum(['alarm', 'intent', 'work']).optional(),
      trigger_id: z.uuid().optional().describe('This alarm, intent or work only.'),
    }),
    payload: z.object({
      ...{ trigger: z.enum(['alarm', 'intent', 'work']), trigger_id: z.uuid(), name: z.string() },
      ...{ ...slot, ...whose },
    }),
  },
  'message.for_person': {
    description: 'An agent has said something to the person: told when it is committed.',
    input: z.strictObject({
      user_id: userId,
      agent_id: agentId,
      thread_id: keyPart.optional().describe('In this conversation only.'),
      reason: z
        .enum(REASONS)
        .optional()
        .describe('answer: to a message; follow_up, promise, notice: on its own.'),
    }),
    payload: z.object({
      ...{ message_id: z.uuid(), session_key: z.string(), content: z.string() },
      reason: z.enum(REASONS),
      in_reply_to: z.int().describe('The number of the event it was said at.'),
      ...whose,
    }),
  },
}

/** The arguments as a look-up takes them: each is a column, whatever it is called. */
export interface Filter {
  readonly agentId: string | null
  /** An alarm, an intent or work. */
  readonly triggerId: string | null
  /** A conversation. */
  readonly threadId: string | null
  /** Label, kind of trigger, status or reason. */
  readonly word: string | null
}

export type EventArguments = Readonly<Record<string, string | undefined>>

/** Takes arguments that their schema has checked. */
export function filterOf(args: EventArguments): Filter {
  return {
    agentId: args.agent_id ?? args.agent_type ?? null,
    triggerId: args.alarm_id ?? args.intent_id ?? args.work_id ?? args.trigger_id ?? null,
    threadId: args.thread_id ?? null,
    word: args.label ?? args.trigger_type ?? args.status ?? args.trigger ?? args.reason ?? null,
  }
}
