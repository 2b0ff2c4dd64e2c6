/** The companion with a chat model: tools act through the turn's wishes, and plain words do while the model is away. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { demoCompanion } from '../../packages/cli/src/demo.ts'
import { type FakeModel, fakeModel, json, saying } from '../agents/fake-model.ts'
import { eachStore } from '../setup/stores.ts'
import { type World, world } from '../setup/worlds.ts'

const KEY = 'ann:companion:t'
const SECRET = 'sk-very-secret'

const calling = (...calls: [name: string, given: object | string][]) =>
  json(200, {
    choices: [
      {
        message: {
          role: 'assistant',
          content: null,
          tool_calls: calls.map(([name, given], index) => ({
            id: `c${index}`,
            type: 'function',
            function: {
              name,
              arguments: typeof given === 'string' ? given : JSON.stringify(given),
            },
          })),
        },
        finish_reason: 'tool_calls',
      },
    ],
  })

type Row = Record<string, unknown>

const NVDA_LOW = {
  user_id: 'ann',
  intent_name: 'NVDA low',
  trigger_type: 'price',
  trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
  action_context: 'Tell the user that NVDA is below 130',
  agent_id: 'companion',
  thread_id: 't',
} as const

eachStore('the companion with a model', (store) => {
  let fake: FakeModel
  let w: World
  beforeEach(async () => {
    fake = await fakeModel()
    const model = { url: fake.url, name: 'tiny', key: SECRET }
    w = await world(store, { companion: demoCompanion({ model }) })
  })
  afterEach(() => fake.stop())

  async function say(text: string): Promise<string[]> {
    await w.say(KEY, text)
    await w.settle()
    const rows = await w.query<{ payload: string }>(
      `select payload from wakeful.effects where type = 'send_message' order by position`,
    )
    return rows.map(({ payload }) => (JSON.parse(payload) as { content: string }).content)
  }

  const tellOf = (index: number) =>
    fake.asked[index]?.body.messages.map(({ content }) => content) ?? []

  it('offers Wakeful’s own tools, lets refusals be mended, and writes with the turn', async () => {
    fake.answers = [
      calling(['set_alarm', { schedule: 'every blue moon', wake_message: 'tea' }]),
      calling(
        ['set_alarm', { schedule: 'in 20 minutes', wake_message: 'tea', timezone: null }],
        [
          'create_intent',
          {
            intent_name: 'NVDA',
            trigger_type: 'price',
            trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
            action_context: 'NVDA is low.',
          },
        ],
        [
          'create_work',
          { task: 'Report', agent_type: 'reporting', frequency: 'daily at 6pm', run_first: false },
        ],
        ['set_alarm', 'not json'],
        ['format_disk', {}],
      ),
      calling(
        ['list_alarms', {}],
        ['preview_schedule', { schedule: 'every monday' }],
        ['explain', {}],
      ),
      saying('All set.'),
    ]
    expect(await say('tea in 20 minutes, watch NVDA, report daily')).toEqual(['All set.'])
    expect(await w.query<Row>('select * from wakeful.alarms')).toMatchObject([
      { wake_message: 'tea', agent_id: 'companion', conversation_id: 't' },
    ])
    expect(await w.query<Row>('select * from wakeful.scheduled_intents')).toMatchObject([
      { agent_id: 'companion' },
    ])
    expect(await w.query<Row>('select * from wakeful.work')).toMatchObject([{ run_count: 0 }])
    const { tools: offered } = (fake.asked[0] as unknown as { body: object }).body as {
      tools: { function: { name: string; parameters: { properties: object } } }[]
    }
    expect(offered.map((tool) => tool.function.name).sort()).toEqual(
      'cancel_alarm create_intent create_work delete_intent delete_work explain get_alarm get_work list_alarms list_intents list_work preview_schedule set_alarm update_intent update_work'.split(
        ' ',
      ),
    )
    // Whose it is, is never the model's to say.
    for (const tool of offered)
      expect(tool.function.parameters.properties).not.toHaveProperty('user_id')
    expect(tellOf(1).at(-1)).toContain('Refused, nothing was changed')
    expect(tellOf(2).slice(-5)).toEqual([
      expect.stringContaining('Set alarm'),
      expect.stringContaining('Created intent'),
      expect.stringContaining('Created work'),
      expect.stringContaining('Refused'),
      'There is no tool format_disk.',
    ])
    expect(tellOf(3).slice(-2)).toEqual([
      expect.stringContaining('every Monday at 09:00 (UTC)'),
      expect.stringContaining('not been woken'),
    ])
  })

  it('remembers what was said, cancels by the ids of the list, and nothing else', async () => {
    fake.answers = [saying('Hello Ann.')]
    await say('I am Ann')
    await w.call(
      'set_alarm',
      { schedule: 'in 2 hours', wake_message: 'tea', agent_id: 'companion' },
      { actAs: 'ann' },
    )
    const [alarm] = await w.query<{ id: string }>('select id from wakeful.alarms')
    fake.answers = [
      calling(['cancel_alarm', { id: alarm?.id }], ['delete_work', { id: alarm?.id }]),
      saying('Cancelled.'),
    ]
    await say('no tea')
    expect(tellOf(1)).toEqual([expect.any(String), 'I am Ann', 'Hello Ann.', 'no tea'])
    expect(tellOf(2).at(-1)).toContain('there is no such work')
    expect(await w.query<Row>('select status from wakeful.alarms')).toEqual([
      { status: 'cancelled' },
    ])
  })

  it('composes what it says of an intent from the wish, the fact and what was said', async () => {
    fake.answers = [saying('Noted, you hold NVDA.')]
    await say('I hold 10 shares of NVDA')
    await w.call('create_intent', NVDA_LOW)
    fake.answers = [
      calling(['send_message', { text: 'NVDA slid to 128; your ten shares feel it.' }]),
    ]
    await w.call('post_signal', { kind: 'price', ticker: 'NVDA', price: 128 })
    await w.settle()
    const brief = tellOf(fake.asked.length - 1)
    expect(brief.slice(1, 3)).toEqual(['I hold 10 shares of NVDA', 'Noted, you hold NVDA.'])
    expect(brief.at(-1)).toContain('What was wished: Tell the user that NVDA is below 130')
    expect(brief.at(-1)).toContain('"price":128')
    fake.answers = [saying('Sure.')]
    const told = await say('thanks')
    expect(told.at(-2)).toBe('NVDA slid to 128; your ten shares feel it.')
    // An answer to it finds it in the conversation.
    expect(tellOf(fake.asked.length - 1)).toContain('NVDA slid to 128; your ten shares feel it.')
  })

  it('sends the fixed words of an intent where the model only narrates', async () => {
    await w.call('create_intent', NVDA_LOW)
    fake.answers = [saying('NOTHING - all quiet')]
    await w.call('post_signal', { kind: 'price', ticker: 'NVDA', price: 128 })
    await w.settle()
    fake.answers = [saying('Sure.')]
    expect(await say('thanks')).toEqual(['NVDA is at 128, below the 130 you named.', 'Sure.'])
  })

  it('tells of an intent in plain words while the model is away, and says so', async () => {
    await w.call('create_intent', NVDA_LOW)
    fake.answers = [json(400, { error: 'no credit' })]
    await w.call('post_signal', { kind: 'price', ticker: 'NVDA', price: 128 })
    await w.settle()
    fake.answers = [saying('Sure.')]
    const [told] = await say('thanks')
    expect(told).toMatch(
      /^NVDA is at 128, below the 130 you named\.\n\(The model is away, so these are plain words: /,
    )
  })

  it('reads outputs, pauses, changes and finds again what is paused, by the ids of the list', async () => {
    const { work } = (await w.call('create_work', {
      task: 'What happened?',
      agent_type: 'reporting',
      frequency: 'daily at 6pm',
      user_id: 'ann',
    })) as { work: { id: string } }
    await w.settle()
    fake.answers = [
      calling(
        ['get_work', { id: work.id }],
        ['update_work', { id: work.id, is_active: false, frequency: 'every monday' }],
        ['update_work', { id: work.id, frequency: 'every blue moon' }],
        ['update_intent', { id: work.id, enabled: false }],
      ),
      saying('Paused.'),
    ]
    await say('pause my report, and make it weekly')
    const told = tellOf(1).slice(-4)
    expect(told[0]).toMatch(/“What happened\?” \(reporting\): .*\n\nRun 1, .*: /)
    expect(told[1]).toContain('Changed is_active, frequency of work')
    expect(told[2]).toContain('Refused, nothing was changed')
    expect(told[3]).toContain('there is no such intent')
    expect(await w.query<Row>('select * from wakeful.work')).toMatchObject([
      { is_active: false, frequency_cron: '0 9 * * 1' },
    ])
    fake.answers = [calling(['list_work', {}]), saying('One, paused.')]
    await say('what work is there?')
    expect(tellOf(3).at(-1)).toMatch(/“What happened\?” \(reporting\): .*; paused$/)
  })

  it('takes plain words while the model is away, with a note and without its key', async () => {
    fake.answers = [json(400, { error: { message: `no credit for ${SECRET}` } })]
    const [reply] = await say('remind me in 10 seconds to stretch')
    expect(reply).toMatch(/^I will remind you in 10 s \(2026-01-01 00:00:10 UTC\)/)
    expect(reply).toContain(
      '(The model is away, so I took your words plainly: the model answered 400',
    )
    expect(reply).not.toContain(SECRET)
    expect(await w.query('select 1 from wakeful.alarms')).toHaveLength(1)
  })

  it('does nothing twice when the model goes away half way, and ends a model that never answers', async () => {
    const tea = { schedule: 'in 20 minutes', wake_message: 'tea' }
    fake.answers = [calling(['set_alarm', tea]), json(400, { error: 'gone' })]
    const [reply] = await say('remind me in 20 minutes to have tea')
    expect(reply).toContain('Set alarm')
    expect(reply).toContain('only what was done')
    expect(await w.query('select 1 from wakeful.alarms')).toHaveLength(1)
    fake.answers = [calling(['list_alarms', {}])]
    const asked = fake.asked.length
    expect((await say('what is planned?')).at(-1)).toContain('it had nothing to say')
    expect(fake.asked.length - asked).toBe(5)
  })
})
