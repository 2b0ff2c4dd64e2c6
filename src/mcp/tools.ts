/**
 * The tools offered to language models: each is an operation of the table under a name, with a description that says
 * when to use it and what to pass. One whose operation is not there is not offered.
 */
import type { TextRow } from './answer-text.ts'

export interface ToolRow extends TextRow {
  readonly name: string
  /** Of the operation, where it differs from the tool's. */
  readonly operation?: string
  readonly title: string
  readonly description: string
  /** Changes nothing, although it is no GET. */
  readonly readOnly?: boolean
}

/** Told to clients once, for the system prompt. */
export const INSTRUCTIONS =
  'Wakeful keeps promises in time. Use schedule for "remind me", "check again in an hour", "every weekday at 8:30" and "tell me when …"; list_scheduled, update_scheduled and cancel_scheduled for what is set; create_work for tasks done once or again and again whose results are kept; explain for "why did, or didn\'t, you write?"; set_preferences for quiet hours and the user\'s time zone. Pass the user\'s IANA timezone (such as Europe/Berlin) where a tool takes one: without it times are in the zone known of the person, else in the server\'s own. Tell the user the time that the answer says, not the one you meant.'

const PHRASES =
  '"tomorrow at 9am", "in 20 minutes", "every weekday at 8:30", "monthly on the 1st at noon"'

const SCHEDULES: readonly ToolRow[] = [
  {
    name: 'schedule',
    operation: 'put_schedule',
    title: 'Schedule',
    description: `Set what wakes an agent later, under a name of your choice; the same name again replaces it. Say when with ONE of: in ("20 minutes"), at ("tomorrow at 9am"), every ("weekday at 8:30", "2 hours", cron), when (a condition: {"price":"NVDA","below":130}, {"silent_for":"2 days"}, {"news":["fusion"]}). note is what the agent is told then, written so that it makes sense then. cancel_on_reply true: only if the user does not write first. run: an executor does work instead. A phrase that has no exact meaning is refused with phrases that work. Example: {"name":"bank","at":"tomorrow at 9am","timezone":"Europe/Berlin","note":"Remind Ann to call the bank"}`,
  },
  {
    name: 'list_scheduled',
    operation: 'list_schedules',
    title: 'List what is scheduled',
    description:
      'What is ahead, soonest first, whatever its kind, with the ref that update_scheduled and cancel_scheduled take. status "active" leaves out what has ended.',
    items: ['schedule', 'schedules', 'soonest first'],
  },
  {
    name: 'update_scheduled',
    operation: 'update_schedule',
    title: 'Change what is scheduled',
    description:
      'Change a schedule by its ref: pass only what changes. Another time, every or condition takes the place of the old one; the name stays.',
  },
  {
    name: 'cancel_scheduled',
    operation: 'delete_schedule',
    title: 'Cancel what is scheduled',
    description: 'Remove a schedule by its ref, so that it never fires again.',
  },
]

const ALARMS: readonly ToolRow[] = [
  {
    name: 'set_alarm',
    title: 'Set an alarm',
    description: `Wake an agent at a time, once or again and again. Use it when somebody wants to be reminded, woken or contacted at a time. Say when with ONE of: schedule (a phrase such as ${PHRASES}); or kind "once" with fire_at or delay_seconds; or kind "cron" with cron_expr (five fields, or "@every 5m"). Pass timezone (IANA, the user's own) and wake_message: what the agent is told when it wakes, written so that it makes sense then. A phrase that has no exact meaning is refused with phrases that work. Pass an idempotency_key of your own if you may have to retry: the same key never sets a second alarm. Example: {"schedule":"tomorrow at 9am","timezone":"Europe/Berlin","wake_message":"Remind Ann to call the bank"}`,
  },
  {
    name: 'promise',
    title: 'Promise',
    description: `Tell a person that something will come, and set the alarm for it: both happen, or neither. Use it instead of set_alarm where you have not told them yet: session_key is the conversation (user:agent:thread), text is what is said there now, and the alarm wakes the agent of that conversation then. Say when as for set_alarm: schedule (a phrase such as ${PHRASES}), fire_at, delay_seconds or cron_expr; pass timezone. A time that is refused means that nothing was said: correct it and call again. Example: {"session_key":"ann:companion:main","text":"I will remind you tomorrow at 9 to call the bank.","schedule":"tomorrow at 9am","timezone":"Europe/Berlin"}`,
  },
  {
    name: 'list_alarms',
    title: 'List alarms',
    description:
      'The alarms there are, newest first, with their next times and ids. Use it to answer "what is planned?" and to find the id of an alarm to look at or cancel. status "active" leaves out those that have fired, failed or were cancelled.',
    items: ['alarm', 'alarms'],
  },
  {
    name: 'get_alarm',
    title: 'Look at an alarm',
    description:
      'One alarm by its id: its status, its next times, when it last fired, and what went wrong. Find ids with list_alarms.',
  },
  {
    name: 'cancel_alarm',
    title: 'Cancel an alarm',
    description:
      'Cancel an alarm by its id, so that it never fires again. One that has already ended stays as it is. Find ids with list_alarms; to change an alarm, cancel it and set a new one.',
  },
]

const INTENTS: readonly ToolRow[] = [
  {
    name: 'create_intent',
    title: 'Create an intent',
    description:
      'Create a standing wish that is checked again and again: "tell me when NVDA falls below 130" (trigger_type price), "check in if I am silent for two days" (silence), "tell me when the news mentions X" (news), or by time (cron, interval, once). trigger_schedule says when it is checked, trigger_condition what must be true, action_context what the agent is told when it fires. Pass the user\'s timezone. agent_id is the agent that Wakeful wakes when it fires: the only one when left out; null leaves it to an outside worker. For a plain reminder at a time use set_alarm. Example: {"intent_name":"NVDA below 130","trigger_type":"price","trigger_condition":{"ticker":"NVDA","operator":"<","value":130},"action_context":"Tell the user that NVDA is below 130","agent_id":"companion"}',
  },
  {
    name: 'list_intents',
    title: 'List intents',
    description:
      'The standing wishes there are, newest first, with their ids, whether they are on, and their next checks. Use it to answer "what are you watching for me?" and to find an id.',
    items: ['intent', 'intents'],
  },
  {
    name: 'update_intent',
    title: 'Change an intent',
    description:
      'Change an intent by its id: pass only what changes. enabled false switches it off, true on again; null clears a field that may be empty.',
  },
  {
    name: 'delete_intent',
    title: 'Delete an intent',
    description:
      'Delete an intent by its id for good. To switch it off for a while, use update_intent with enabled false.',
    done: 'The intent $ was deleted and will not be checked again.',
  },
]

const WORK: readonly ToolRow[] = [
  {
    name: 'create_work',
    title: 'Create work',
    description:
      'Have a task done once or on a rhythm, its results kept: "research AI trends" (frequency "once"), "send me a summary every weekday at 8" (frequency "every weekday at 8am"). task says what to do, agent_type who does it. Pass the user\'s timezone. A recurring task also runs at once unless run_first is false. wait_seconds (at most 60) waits for the first result.',
  },
  {
    name: 'list_work',
    title: 'List work',
    description:
      'The work there is, newest first, with ids, rhythms and next runs. active true leaves out what is paused or done.',
    items: ['piece of work', 'pieces of work'],
  },
  {
    name: 'get_work',
    title: 'Look at work',
    description:
      'One piece of work by its id, with its outputs, newest first: their status, titles and contents. Find ids with list_work.',
  },
  {
    name: 'update_work',
    title: 'Change work',
    description:
      'Change work by its id: pass only what changes. is_active false pauses it, true resumes it with its next time in the future; frequency, timezone, task and parameters can be changed.',
  },
  {
    name: 'delete_work',
    title: 'Delete work',
    description:
      'Delete work by its id for good, with all of its outputs. To pause it, use update_work with is_active false.',
    done: 'The work $ was deleted with all of its outputs.',
  },
]

const PEOPLE: readonly ToolRow[] = [
  {
    name: 'get_preferences',
    title: 'Look at preferences',
    description:
      'When, how often and by whom a person wants to be spoken to: time zone, quiet hours, most unasked messages a day, pause, muted agents, and how much waits for its moment. user_id "me" is whom the key stands for.',
  },
  {
    name: 'set_preferences',
    title: 'Change preferences',
    description:
      'Use it when somebody says when they want quiet ("quiet between 22:00 and 7:30"), how much is enough ("at most five messages a day"), which agent shall only answer, or where they are (timezone). Pass only what changes; null empties it. They hold across all agents and channels; nothing promised is lost, it comes later. Example: {"user_id":"me","quiet_hours":[{"from":"22:00","to":"07:30"}],"most_unasked_per_day":5}',
  },
  {
    name: 'pause',
    title: 'Pause',
    description:
      'Use it for "do not disturb me until tomorrow": nothing but answers and what is critical until then. Give exactly one of until (an instant or a phrase such as "tomorrow at 9am") and for ("2 hours"). Example: {"user_id":"me","until":"tomorrow at 9am"}',
  },
]

const ASKED: readonly ToolRow[] = [
  {
    name: 'list_questions',
    title: 'List questions',
    description:
      'Questions that agents have asked a person, newest first, with their options, ids, and what they came to. status "open" gives those that still wait. Use it to answer "what do you need from me?".',
    items: ['question', 'questions'],
  },
  {
    name: 'answer_question',
    title: 'Answer a question',
    description:
      "Answer an open question with the person's own word, never with yours: answer is one of its options. The first answer counts; where it was answered before, or its time is over, you are told what counts. Find ids with list_questions.",
  },
  {
    name: 'cancel_question',
    title: 'Withdraw a question',
    description: 'Withdraw an open question by its id, so that nobody answers it any more.',
  },
]

const STOPS: readonly ToolRow[] = [
  {
    name: 'stop',
    title: 'Stop',
    description:
      'The switch. Use it when an agent runs wild or somebody wants it to end now: level "trigger" with the id of an alarm, intent or work, "agent" with its name, "user" with the user id, or "everything" without a target. It bites within a second, also for what runs; what it holds waits. Say why in reason. Example: {"level":"agent","target":"bot","reason":"it writes every second"}',
  },
  {
    name: 'list_stops',
    title: 'List stops',
    description: 'What is stopped now, with the ids that get_stop, resume_stop and drop_stop take.',
    items: ['stop', 'stops'],
  },
  {
    name: 'get_stop',
    title: 'Look at a stop',
    description: 'One stop by its id, and what waits because of it.',
  },
  {
    name: 'resume_stop',
    title: 'Resume what was stopped',
    description: 'End a stop by its id; what it held runs now.',
  },
  {
    name: 'drop_stop',
    title: 'Drop what was held',
    description:
      'End a stop by its id without running the fires it held; what people said meanwhile is answered. Use it after a runaway.',
  },
]

/** What clients are offered without asking for all: fewer tools are chosen better, and cost less of the context. */
export const DEFAULT_TOOLS: ReadonlySet<string> = new Set([
  ...['schedule', 'list_scheduled', 'update_scheduled', 'cancel_scheduled'],
  ...['create_work', 'list_work', 'get_work', 'update_work', 'delete_work'],
  ...['explain', 'get_preferences', 'set_preferences'],
])

export const TOOLS: readonly ToolRow[] = [
  ...SCHEDULES,
  ...ALARMS,
  ...INTENTS,
  ...WORK,
  ...PEOPLE,
  ...ASKED,
  ...STOPS,
  {
    name: 'preview_schedule',
    title: 'Preview a schedule',
    description: `What a schedule means and when it would fire, without setting anything. Use it when you are not sure that a phrase says what the user meant, or to tell them the times before they decide. Give exactly one of schedule (a phrase such as ${PHRASES}), cron_expr and frequency, and the user's timezone.`,
    readOnly: true,
  },
  {
    name: 'forecast',
    title: 'Forecast the next days',
    description:
      'What would the next days (14 by default, at most 31) bring: what would be said, deferred by quiet hours or limits, gathered into one message, or dropped, when and why? Use it before adding something ("would this be too much?"), with draft: {"alarms":[…],"intents":[…],"work":[…]}, each as set_alarm, create_intent and create_work take it; and to answer "what have I got coming?". facts feeds conditions: [{"at":"2030-01-31T09:00:00Z","signal":{"kind":"price","ticker":"NVDA","price":120}}]; without them conditions stay silent. Pass limit 30 to have no more than the first occurrences listed; counts by day are of all. user_id "me" is whom the key stands for. Nothing is set, nobody is called, no message leaves.',
    readOnly: true,
  },
  {
    name: 'explain',
    operation: 'get_ledger',
    title: 'Explain what happened',
    description:
      'Why did, or didn\'t, an agent write? Everything that was due, newest first, each with its outcome and the reason: delivered (as promised, as a follow-up), held back by a limit (follow-ups alone), condition not met, failed, cancelled. Narrow it with from and to, session_key or trigger. Use it before guessing when a user asks "why did you not remind me?".',
    items: ['entry', 'entries'],
  },
]
