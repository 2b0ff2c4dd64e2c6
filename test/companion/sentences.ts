/**
 * Sentences as people write them to the companion, and what must come of each. Said on Wednesday 4 March 2026 at 09:15 in
 * Berlin. `sets`, `setsBoth`: a time and a thing, understood. `hard`: a time and a thing, asked back or refused. `other`: everything else.
 */

export type Outcome =
  | 'asked'
  | 'refused'
  | 'no wish'
  | 'what?'
  | 'when?'
  | { readonly is: string; readonly [field: string]: unknown }

export interface Case {
  readonly sentence: string
  readonly states: boolean
  /** What is set: canonical schedule and text. */
  readonly set: readonly (readonly [schedule: string, what: string])[]
  readonly outcome: Outcome
}

const sets = (sentence: string, schedule: string, what: string): Case => ({
  sentence,
  states: true,
  set: [[schedule, what]],
  outcome: { is: 'remind' },
})
const setsBoth = (sentence: string, ...set: [string, string][]): Case => ({
  sentence,
  states: true,
  set,
  outcome: { is: 'remind_all' },
})
const hard = (sentence: string, outcome: Outcome): Case => ({
  sentence,
  states: true,
  set: [],
  outcome,
})
const other = (sentence: string, outcome: Outcome): Case => ({
  sentence,
  states: false,
  set: [],
  outcome,
})

const today = (clock: string) => `2026-03-04T${clock}:00Z`
const tomorrow = (clock: string) => `2026-03-05T${clock}:00Z`

const PLAIN: readonly Case[] = [
  sets('remind me in 10 minutes to check the oven', today('08:25'), 'check the oven'),
  sets('Remind me to call mum tomorrow at 9.', tomorrow('08:00'), 'call mum'),
  sets('remind me tomorrow at 9 to call mum', tomorrow('08:00'), 'call mum'),
  sets('remind me at 5pm to leave', today('16:00'), 'leave'),
  sets('remind me to leave at 5pm', today('16:00'), 'leave'),
  sets('remind me in an hour to stretch', today('09:15'), 'stretch'),
  sets('remind me in half an hour about the laundry', today('08:45'), 'the laundry'),
  sets('remind me about the laundry in half an hour', today('08:45'), 'the laundry'),
  sets(
    'remind me on friday at 2pm to submit the report',
    '2026-03-06T13:00:00Z',
    'submit the report',
  ),
  sets(
    'remind me to submit the report on friday at 2pm',
    '2026-03-06T13:00:00Z',
    'submit the report',
  ),
  sets('remind me next monday to book flights', '2026-03-09T08:00:00Z', 'book flights'),
  sets(
    'remind me on 24 december at 6pm to wrap the presents',
    '2026-12-24T17:00:00Z',
    'wrap the presents',
  ),
  sets(
    'remind me that the rent is due on the 1st at noon',
    '2026-04-01T10:00:00Z',
    'the rent is due',
  ),
  sets('remind me tonight to take out the trash', today('20:00'), 'take out the trash'),
  sets('remind me this evening to water the plants', today('17:00'), 'water the plants'),
  sets('remind me tomorrow morning to send the invoice', tomorrow('08:00'), 'send the invoice'),
  sets('remind me in the morning to pack lunch', tomorrow('08:00'), 'pack lunch'),
  sets('remind me at noon to eat', today('11:00'), 'eat'),
  sets('remind me at half past 4 in the afternoon to pick up Tom', today('15:30'), 'pick up Tom'),
  sets('remind me at quarter to nine tonight to call dad', today('19:45'), 'call dad'),
  sets('remind me in 2 hours and 30 minutes to move the car', today('10:45'), 'move the car'),
  sets(
    'remind me in an hour and a half to turn off the stove',
    today('09:45'),
    'turn off the stove',
  ),
  sets('remind me in 3 days to water the cactus', '2026-03-07T08:15:00Z', 'water the cactus'),
  sets('remind me in two weeks to renew my passport', '2026-03-18T08:15:00Z', 'renew my passport'),
  sets('remind me on march 20th at 10am to file taxes', '2026-03-20T09:00:00Z', 'file taxes'),
  sets('remind me not to eat sugar tonight at 8', today('19:00'), 'not to eat sugar'),
  sets('remind me at 17:30 that Ann is waiting', today('16:30'), 'Ann is waiting'),
  sets(
    'remind me the day after tomorrow at 8:15 to buy bread',
    '2026-03-06T07:15:00Z',
    'buy bread',
  ),
  sets('remind me at 9pm to call mum and dad', today('20:00'), 'call mum and dad'),
  sets(
    'remind me tomorrow at 10 to buy 2 tickets for Bob',
    tomorrow('09:00'),
    'buy 2 tickets for Bob',
  ),
  sets('Remind me to text Ann at 8 in the evening', today('19:00'), 'text Ann'),
  sets('remind me this afternoon at 3 to call the bank', today('14:00'), 'call the bank'),
]

const FRAMED: readonly Case[] = [
  sets('please remind me in 5 minutes to breathe', today('08:20'), 'breathe'),
  sets('Hey, can you remind me tomorrow at 7am to go running?', tomorrow('06:00'), 'go running'),
  sets('could you please remind me to feed the cat at 6pm', today('17:00'), 'feed the cat'),
  sets("I'd like you to remind me in 20 minutes to drink water", today('08:35'), 'drink water'),
  sets(
    'would you remind me at 4pm to call the plumber, please?',
    today('15:00'),
    'call the plumber',
  ),
  sets('pls remind me tmrw at 9 to pay rent', tomorrow('08:00'), 'pay rent'),
  sets(
    'hi there, remind me tommorow at noon to order pizza thanks',
    tomorrow('11:00'),
    'order pizza',
  ),
  sets('ok remind me in 15 min to switch the laundry', today('08:30'), 'switch the laundry'),
  sets('set a reminder for tomorrow at 9 to call mum', tomorrow('08:00'), 'call mum'),
  sets('Set a reminder to call mum tomorrow at 9', tomorrow('08:00'), 'call mum'),
  sets('set a reminder for the dentist on friday at 3pm', '2026-03-06T14:00:00Z', 'the dentist'),
  sets('create a reminder at 6pm about the parcel', today('17:00'), 'the parcel'),
  sets('set an alarm for 7am tomorrow to catch the train', tomorrow('06:00'), 'catch the train'),
  sets('i need a reminder at 3pm to call the school', today('14:00'), 'call the school'),
  sets('I want to be reminded tomorrow at 8 to pack', tomorrow('07:00'), 'pack'),
  sets("don't let me forget to call grandma tomorrow at 5pm", tomorrow('16:00'), 'call grandma'),
  sets('dont forget to remind me at 5pm to lock the door', today('16:00'), 'lock the door'),
  sets('remember to remind me in 30 minutes to check the mail', today('08:45'), 'check the mail'),
  sets('make sure I remember to take my pills at 9pm', today('20:00'), 'take my pills'),
  sets('wake me up tomorrow at 6:30', tomorrow('05:30'), 'wake up'),
  sets('wake me in 20 minutes', today('08:35'), 'wake up'),
  sets('ping me in 10 min about the deploy', today('08:25'), 'the deploy'),
  sets('tell me at 6pm to go home', today('17:00'), 'go home'),
  sets('nudge me at 11:45 to join the call', today('10:45'), 'join the call'),
  sets('give me a nudge at 2pm to stretch', today('13:00'), 'stretch'),
  sets('Good morning, remind me at 9pm to sleep', today('20:00'), 'sleep'),
  sets('note to self: call the bank tomorrow at 10am', tomorrow('09:00'), 'call the bank'),
  sets('reminder: dentist on monday at 14:00', '2026-03-09T13:00:00Z', 'dentist'),
]

const RHYTHMS: readonly Case[] = [
  sets('remind me every day at 8am to take my vitamins', '0 8 * * *', 'take my vitamins'),
  sets('remind me to take my vitamins every day at 8am', '0 8 * * *', 'take my vitamins'),
  sets('every weekday at 8:30 plan the day', '30 8 * * 1-5', 'plan the day'),
  sets('remind me every morning to make the bed', '0 9 * * *', 'make the bed'),
  sets('remind me every morning at 7 to make the bed', '0 7 * * *', 'make the bed'),
  sets(
    'summarise the latest AI news every morning at 8',
    '0 8 * * *',
    'summarise the latest AI news',
  ),
  sets('remind me every evening at 8 to journal', '0 20 * * *', 'journal'),
  sets('remind me every night to lock up', '0 21 * * *', 'lock up'),
  sets('remind me every monday morning to check the budget', '0 9 * * 1', 'check the budget'),
  sets('remind me every 30 minutes to drink', '*/30 * * * *', 'drink'),
  sets('remind me to stand up every hour', '0 * * * *', 'stand up'),
  sets(
    'remind me every 45 minutes to look away from the screen',
    '@every 45m',
    'look away from the screen',
  ),
  sets(
    'remind me every weekday at 8:30 and 17:00 to log my hours',
    '30 8 * * 1-5 | 0 17 * * 1-5',
    'log my hours',
  ),
  sets('remind me daily at 9am, 1pm and 6pm to take a pill', '0 9,13,18 * * *', 'take a pill'),
  sets('every morning and evening remind me to brush my teeth', '0 9,18 * * *', 'brush my teeth'),
  sets('remind me on mondays and thursdays at 7 to go to the gym', '0 7 * * 1,4', 'go to the gym'),
  sets(
    'remind me monthly on the 1st and 15th at noon to pay the cleaner',
    '0 12 1,15 * *',
    'pay the cleaner',
  ),
  sets('remind me every aug 20 and 30 to call Lena', '0 9 20,30 8 *', 'call Lena'),
  sets(
    'remind me every year on december 21st and 31st to check the smoke alarms',
    '0 9 21,31 12 *',
    'check the smoke alarms',
  ),
  sets(
    'remind me every first monday of the month to back up my laptop',
    '0 9 * * 1#1',
    'back up my laptop',
  ),
  sets('remind me daily except sundays at 6am to run', '0 6 * * 1-6', 'run'),
  sets('every friday at 4pm: write the weeknotes', '0 16 * * 5', 'write the weeknotes'),
  sets('water the plants every sunday at 10', '0 10 * * 0', 'water the plants'),
  sets('set a daily reminder at 9am to stretch', '0 9 * * *', 'stretch'),
  sets('set a daily reminder to stretch at 9am', '0 9 * * *', 'stretch'),
  sets(
    'can you remind me weekly on tuesday at 19:00 to put the bins out',
    '0 19 * * 2',
    'put the bins out',
  ),
  sets('remind me every weekend at 11 to call home', '0 11 * * 0,6', 'call home'),
  sets('every monday remind me to water the plants at 8am', '0 8 * * 1', 'water the plants'),
  hard('remind me every other monday to take out the recycling', 'refused'),
  hard('remind me every day until friday to study', 'refused'),
  hard('remind me twice a day to drink water', 'refused'),
  hard('remind me every 30 minutes between 9 and 17 to stand up', 'refused'),
  hard('remind me every day except holidays at 9 to run', 'refused'),
  hard('remind me every blue moon to dance', 'refused'),
]

const ORDERS: readonly Case[] = [
  sets('tomorrow at 9 remind me to call mum', tomorrow('08:00'), 'call mum'),
  sets('At 5pm, please remind me to leave', today('16:00'), 'leave'),
  sets('in 20 minutes remind me to flip the pizza', today('08:35'), 'flip the pizza'),
  sets('Call mum. Tomorrow at 9.', tomorrow('08:00'), 'Call mum'),
  sets('Tomorrow at 9: call mum', tomorrow('08:00'), 'call mum'),
  sets('Buy milk. Remind me at 5pm.', today('16:00'), 'Buy milk'),
  sets('Call the landlord, remind me tomorrow at 10', tomorrow('09:00'), 'Call the landlord'),
  sets('in two hours check the oven', today('10:15'), 'check the oven'),
  sets('at 18:00 start cooking', today('17:00'), 'start cooking'),
  sets('remind me tomorrow at 9 to buy sun cream', tomorrow('08:00'), 'buy sun cream'),
  sets('call mum sat at 5pm', '2026-03-07T16:00:00Z', 'call mum'),
  sets('call Ann tomorrow at 3pm', tomorrow('14:00'), 'call Ann'),
  sets('buy flowers on friday at 17:00', '2026-03-06T16:00:00Z', 'buy flowers'),
  sets('dentist tomorrow at 3pm', tomorrow('14:00'), 'dentist'),
  sets('tomorrow at 7am - take out the bins', tomorrow('06:00'), 'take out the bins'),
  sets('remind me tomorrow to call the bank at 10am', tomorrow('09:00'), 'call the bank'),
  sets('remind me on friday to call Bob at noon', '2026-03-06T11:00:00Z', 'call Bob'),
  sets(
    'remind me to call mum tomorrow at 9 about the party',
    tomorrow('08:00'),
    'call mum about the party',
  ),
  sets('move the car to the garage at 5pm', today('16:00'), 'move the car to the garage'),
  sets('change the filter every month', '0 9 1 * *', 'change the filter'),
  sets('remind me at 8pm to say "good morning at 8"', today('19:00'), 'say "good morning at 8"'),
  sets(
    'remind me tomorrow at 9 to read “every day is a gift”',
    tomorrow('08:00'),
    'read “every day is a gift”',
  ),
  sets('drop the kids at school tomorrow at 8', tomorrow('07:00'), 'drop the kids at school'),
  sets('remind me to turn off the oven in 20 minutes', today('08:35'), 'turn off the oven'),
  sets(
    'remind me to cancel the gym membership tomorrow at 9',
    tomorrow('08:00'),
    'cancel the gym membership',
  ),
  sets('remind me at 3 p.m. to call the vet', today('14:00'), 'call the vet'),
  sets('remind me at 8.30 tomorrow to leave for work', tomorrow('07:30'), 'leave for work'),
]

const TWO: readonly Case[] = [
  setsBoth(
    'remind me at 10 to call mum and at 11 to call dad',
    [today('09:00'), 'call mum'],
    [today('10:00'), 'call dad'],
  ),
  setsBoth(
    'remind me to call mum at 10 and to call dad at 11',
    [today('09:00'), 'call mum'],
    [today('10:00'), 'call dad'],
  ),
  setsBoth(
    'Remind me at 10 to call mum. Remind me tomorrow at 11 to call dad.',
    [today('09:00'), 'call mum'],
    [tomorrow('10:00'), 'call dad'],
  ),
  setsBoth(
    'remind me tomorrow at 9 to pack and remind me on friday at 7 to leave',
    [tomorrow('08:00'), 'pack'],
    ['2026-03-06T06:00:00Z', 'leave'],
  ),
  hard('remind me to call mum at 9 and dad at 10', 'refused'),
  hard('remind me tomorrow at 9 to call mum and at 10 to call dad', 'refused'),
  setsBoth(
    'remind me at 9pm to call mum and every day at 10 to run',
    [today('20:00'), 'call mum'],
    ['0 10 * * *', 'run'],
  ),
  hard('cancel the water reminder and remind me at 5pm to leave', 'refused'),
  hard('remind me at 9 and at 10 to call mum', 'refused'),
  hard('remind me tomorrow at 9 to book the 10am train', 'asked'),
  hard('remind me at 9pm to go to the party on friday', 'asked'),
  hard('remind me at 5pm to prepare the morning meeting', 'asked'),
  hard('remind me at 7am to run for 30 minutes', 'asked'),
]

const UNSURE: readonly Case[] = [
  other('the train leaves at 9pm', 'asked'),
  other('my flight is tomorrow at 9', 'asked'),
  other('I need to call mum tomorrow at 9', 'asked'),
  other('Bob arrives tomorrow', 'asked'),
  other('we are having dinner at 8pm', 'asked'),
  other('cancel the gym membership tomorrow at 9', 'asked'),
  other('remind me by 5pm to submit it', 'refused'),
  other('remind me at about 5pm to leave', 'refused'),
  other('remind me at 9am UTC to join', 'refused'),
  other('remind me at 9 Europe/London to call', 'refused'),
  other('remind me tomorrow at 9 instead', 'refused'),
  other('remind me around noon to eat', 'refused'),
  other('remind me to eat at 5 guys tomorrow', 'refused'),
  other('remind me yesterday to call', 'refused'),
  other('remind me today at 8am to wake Tom', 'refused'),
  other('remind me soon to call mum', 'refused'),
  other('remind me later', 'refused'),
  other('remind me next week to call mum', 'refused'),
  other('remind me tomorrow at 25:00 to sleep', 'refused'),
  other('remind me every evening at 9am to read', 'refused'),
  other('remind me tonight at 2am to sleep', 'refused'),
  other('remind me tomorrow at 9 until it is done to call', 'refused'),
  other('remind me at 9 or 10 to call', 'refused'),
]

const HALVES: readonly Case[] = [
  other('remind me to call mum', 'when?'),
  other('remind me about the dentist', 'when?'),
  other('can you remind me to buy milk?', 'when?'),
  other('set a reminder to stretch', 'when?'),
  other("don't forget to buy milk", 'when?'),
  other('remind me tomorrow at 9', 'what?'),
  other('remind me in 10 minutes', 'what?'),
  other('set an alarm for 7am', 'what?'),
  other('tomorrow at 9', 'what?'),
  other('every day at 8', 'what?'),
  other('remind me about that tomorrow at 9', 'what?'),
  other('remind me', 'refused'),
  other('remind me when I get home to feed the cat', 'refused'),
  other('remind me after lunch to call', 'refused'),
  other('remind me in 10', 'refused'),
  other('remind me tomorrow at 9ish to leave', 'refused'),
  other('remind me every day at 9 starting tomorrow to run', 'refused'),
]

const NEGATED: readonly Case[] = [
  other('dont remind me tomorrow', { is: 'not_then', phrase: 'tomorrow', name: '' }),
  other("don't remind me tomorrow", { is: 'not_then', phrase: 'tomorrow' }),
  other('please do not remind me on friday', { is: 'not_then', phrase: 'on friday' }),
  other('no reminders tomorrow please', { is: 'not_then', phrase: 'tomorrow' }),
  other('skip tomorrow', { is: 'not_then', phrase: 'tomorrow' }),
  other('skip the water reminder tomorrow', { is: 'not_then', phrase: 'tomorrow', name: 'water' }),
  other('not tomorrow', { is: 'not_then', phrase: 'tomorrow' }),
  other("I don't want to be reminded at 9", { is: 'not_then', phrase: 'at 9' }),
  other("don't wake me tomorrow", { is: 'not_then', phrase: 'tomorrow' }),
  other("don't remind me about water", { is: 'cancel', name: 'water' }),
  other('stop reminding me about water', { is: 'cancel', name: 'water' }),
  other('stop reminding me to drink water', { is: 'cancel', name: 'drink water' }),
  other('no more water reminders', { is: 'cancel', name: 'water' }),
  other("I don't need the water reminder anymore", { is: 'cancel', name: 'water' }),
  other('stop reminding me', { is: 'stop' }),
  other("don't you dare remind me at 9", 'no wish'),
  other("don't call mum at 9", 'no wish'),
  other('never call me at 9', 'no wish'),
  other("I can't come tomorrow at 9", 'no wish'),
]

const CHANGES: readonly Case[] = [
  other('cancel the water reminder', { is: 'cancel', name: 'water' }),
  other('please cancel my dentist reminder', { is: 'cancel', name: 'dentist' }),
  other('delete the reminder about the dentist', { is: 'cancel', name: 'dentist' }),
  other('remove the stretch alarm', { is: 'cancel', name: 'stretch' }),
  other('forget the dentist', { is: 'cancel', name: 'dentist' }),
  other('turn off the water reminder', { is: 'cancel', name: 'water' }),
  other('can you cancel the call mum reminder?', { is: 'cancel', name: 'call mum' }),
  other('cancel 2', { is: 'cancel', number: 2 }),
  other('delete number 3', { is: 'cancel', number: 3 }),
  other('cancel it', { is: 'cancel', name: '' }),
  other('cancel that reminder', { is: 'cancel', name: '' }),
  other('stop the weekly report', { is: 'cancel', name: 'weekly report' }),
  other('cancel the reminder tomorrow at 9', { is: 'not_then', phrase: 'tomorrow at 9', name: '' }),
  other('cancel my 9am reminder', { is: 'not_then', phrase: '9am', name: '' }),
  other("cancel tomorrow's reminders", { is: 'not_then' }),
  other('cancel all my reminders', { is: 'stop_all', only: 'alarm' }),
  other('cancel everything', { is: 'stop_all', only: null }),
  other('move the dentist reminder to 10am', { is: 'move', name: 'dentist', to: '10am' }),
  other('change the dentist reminder to tomorrow at 3pm', {
    is: 'move',
    name: 'dentist',
    to: 'tomorrow at 3pm',
  }),
  other('can you move my dentist reminder to 10?', { is: 'move', name: 'dentist', to: 'at 10' }),
  other('reschedule the dentist to friday at noon', {
    is: 'move',
    name: 'dentist',
    to: 'friday at noon',
  }),
  other('move the dentist to 10am', { is: 'move', name: 'dentist', to: '10am' }),
  other('move number 2 to 10am', { is: 'move', number: 2, to: '10am' }),
  other('move it to tomorrow', { is: 'move', name: '', to: 'tomorrow' }),
  other('make it 10am', { is: 'move', name: '', to: '10am' }),
  other('change the water reminder to every day at 9 and 17:00', {
    is: 'move',
    name: 'water',
    to: 'every day at 9 and 17:00',
  }),
  other('postpone the dentist reminder by an hour', {
    is: 'postpone',
    name: 'dentist',
    by: 'an hour',
  }),
  other('push the dentist reminder back by 30 minutes', {
    is: 'postpone',
    name: 'dentist',
    by: '30 minutes',
  }),
  other('snooze the dentist reminder for an hour', 'refused'),
  other('move the 9am reminder to 10am', 'refused'),
  other('move the dentist reminder to the garage', 'refused'),
  other('move the dentist reminder and the water reminder to 10am', 'refused'),
]

const TALK: readonly Case[] = [
  other('never mind', { is: 'no' }),
  other('no', { is: 'no' }),
  other('no thanks', { is: 'no' }),
  other('yes please', { is: 'yes' }),
  other('ok', { is: 'yes' }),
  other('2', { is: 'pick', number: 2 }),
  other('the second one', { is: 'pick', number: 2 }),
  other('thanks!', { is: 'thanks' }),
  other('hello', { is: 'hello' }),
  other('Good morning!', { is: 'hello' }),
  other('good night', { is: 'hello' }),
  other('see you tomorrow', 'no wish'),
  other('have a nice evening', 'no wish'),
  other('how are you?', 'no wish'),
  other('what time is it?', 'no wish'),
  other('is it going to rain tomorrow at 9?', 'no wish'),
  other('what happens at 5pm?', 'no wish'),
  other('who is coming tomorrow?', 'no wish'),
  other('lol', 'no wish'),
  other('I like pizza', 'no wish'),
  other('tell me a joke at 9', 'no wish'),
  other('tell me a story', 'no wish'),
  other('help', { is: 'help' }),
]

const QUESTIONS: readonly Case[] = [
  other('what is planned?', { is: 'planned', name: '', phrase: null }),
  other("what's planned for tomorrow?", { is: 'planned', name: '', phrase: 'tomorrow' }),
  other('what do you have planned on friday?', { is: 'planned', phrase: 'on friday' }),
  other('when is my dentist reminder?', { is: 'planned', name: 'dentist', phrase: null }),
  other('do I have any reminders?', { is: 'planned', name: '', phrase: null }),
  other('do I have any reminders tomorrow?', { is: 'planned', phrase: 'tomorrow' }),
  other('show me my reminders', { is: 'planned', name: '' }),
  other('list all alarms', { is: 'planned', name: '' }),
  other('when will you remind me about the dentist?', { is: 'planned', name: 'dentist' }),
  other("what's next?", { is: 'planned', name: '' }),
  other('why did you not write?', { is: 'why' }),
  other('tell me when NVDA is below 130', { is: 'price' }),
  other('tell me when the news mentions fusion', { is: 'news', keywords: ['fusion'] }),
  other('tell me when the news mentions fusion tomorrow', 'refused'),
  other('check in if I am silent for two days', { is: 'silence', hours: 48 }),
  other('my time zone is Asia/Tokyo', { is: 'zone', zone: 'Asia/Tokyo' }),
  other('report daily at 6pm', { is: 'report', phrase: 'daily at 6pm' }),
  other('send me a report every morning at 8', { is: 'report', phrase: 'every morning at 8' }),
  other('every monday at 9 report on my week', { is: 'report', phrase: 'every monday at 9' }),
  other('weekly summary on friday at 5pm', { is: 'report', phrase: 'weekly on friday at 5pm' }),
  other('send me a summary of the news every morning', 'refused'),
]

export const NOW = new Date('2026-03-04T08:15:00Z')
export const ZONE = 'Europe/Berlin'

export const CASES: readonly Case[] = [
  ...[...PLAIN, ...FRAMED, ...RHYTHMS, ...ORDERS, ...TWO, ...UNSURE],
  ...[...HALVES, ...NEGATED, ...CHANGES, ...TALK, ...QUESTIONS],
]
