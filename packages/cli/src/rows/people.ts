/** Commands about people: their preferences, and what waits for its moment. */
import {
  column,
  json,
  number,
  PAGED,
  type Resource,
  status,
  TIMEZONE,
  text,
  when,
  wide,
} from '../row.ts'
import type { Item } from '../table.ts'

/** "22:00-07:30" is what one would type; by weekday it is JSON. */
function windowsOf(input: Item): Item {
  const { quiet_hours: said } = input
  if (typeof said !== 'string') return input
  if (said.startsWith('[')) return { ...input, quiet_hours: JSON.parse(said) as unknown }
  const windows = said.split(',').map((window) => {
    const [from = '', to = ''] = window.trim().split('-')
    return { from, to }
  })
  return { ...input, quiet_hours: said === 'none' ? null : windows }
}

export const people: Resource = {
  name: 'people',
  about: 'when, how often and by whom people want to be spoken to',
  rows: [
    {
      verb: 'show',
      operation: 'get_preferences',
      about: 'the preferences of somebody; "me" is whom the key stands for',
      args: ['<user_id>'],
    },
    {
      verb: 'set',
      operation: 'set_preferences',
      about: 'change them: wakeful people set ann --quiet 22:00-07:30 --most 5',
      args: ['<user_id>'],
      fields: [
        TIMEZONE,
        text(
          'quiet_hours',
          'hours such as 22:00-07:30, several with commas, as JSON by weekday; none empties them',
          'quiet',
        ),
        number('most_unasked_per_day', 'messages a day that nobody asked for', 'most'),
        json('muted_agents', 'agents that only answer, as a JSON array', 'mute'),
      ],
      complete: windowsOf,
    },
    {
      verb: 'pause',
      operation: 'pause',
      about: 'nothing but answers: wakeful people pause ann --until "tomorrow at 9am"',
      args: ['<user_id>'],
      fields: [text('until', 'an instant or a phrase'), text('for', 'how long, such as "2 hours"')],
    },
    {
      verb: 'resume',
      operation: 'end_pause',
      about: 'end a pause',
      args: ['<user_id>'],
    },
    {
      verb: 'deferred',
      operation: 'list_deferred',
      about: 'what waits for its moment, newest first',
      args: ['<user_id>'],
      fields: [...PAGED, text('status', 'waiting, released, expired, cancelled or any')],
      none: 'nothing is deferred',
      columns: [
        column('kind'),
        wide('name'),
        when('scheduled_for', 'was due'),
        column('rule'),
        status(),
        when('release_at', 'comes'),
        column('session_key', 'session'),
      ],
    },
    {
      verb: 'release',
      operation: 'release_deferred',
      about: 'have what is deferred now',
      args: ['<user_id>'],
    },
  ],
}
