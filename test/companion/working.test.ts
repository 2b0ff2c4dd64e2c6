/** Work said to the companion: which sentences make some, of which kind, and how it is tended afterwards. */
import { beforeEach, describe, expect, it } from 'vitest'
import { companion } from '../../packages/companion/src/companion.ts'
import { understand } from '../../packages/companion/src/understand.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { talk } from './talk.ts'

const PLACE = { timezone: 'UTC', now: new Date('2026-01-01T00:00:00Z') }

describe('sentences', () => {
  it.each([
    ['research AI trends every Monday', 'research', 'Research AI trends', 'every Monday'],
    ['every Monday research AI trends', 'research', 'Research AI trends', 'every Monday'],
    ['weekly research on tea', 'research', 'Research on tea', 'weekly'],
    ['can you look into heat pumps?', 'research', 'Look into heat pumps', null],
    [
      'write a short article about tea every day at 9',
      'content',
      'Write a short article about tea',
      'every day at 9',
    ],
    ['write me a weekly newsletter on bees', 'content', 'Write me a newsletter on bees', 'weekly'],
    ['draft a blog post about sailing', 'content', 'Draft a blog post about sailing', null],
  ])('%s', (said, type, task, phrase) => {
    expect(understand(said, PLACE)).toMatchObject({ is: 'work', type, task, phrase })
  })

  it.each([
    ['remind me every monday to research AI trends', 'remind'],
    ['research the flights tomorrow at 9am', 'remind'],
    ['write to me if I am silent for two days', 'silence'],
    ['report daily at 6pm', 'report'],
    ['write a report', 'report'],
    ['pause the tea article', 'pause'],
    ['resume 2', 'resume'],
    ['show me the results of AI trends', 'outputs'],
    ['every Monday research tea every Friday at 9', 'unclear'],
  ])('%s is another wish', (said, is) => {
    expect(understand(said, PLACE)).toMatchObject({ is })
  })
})

eachStore('work said to the companion', (store) => {
  const stage = sharedStage(store, {
    agents: { companion },
    work: { research: async (run) => ({ title: run.task, content: `Found on ${run.task}.` }) },
  })
  let w: ReturnType<typeof stage>
  beforeEach(async () => {
    w = stage()
    for (const table of ['work', 'scheduled_intents', 'autonomy_timers'])
      await w.query(`delete from wakeful.${table}`)
  })

  const { say } = talk(() => w)

  const work = () => w.query<Record<string, unknown>>('select * from wakeful.work order by id')

  it('is made, runs at once, is told, read, paused, resumed and given another rhythm', async () => {
    const answer = await say('research AI trends every Monday')
    expect(answer).toContain('I will look into this every Monday at 09:00 (UTC)')
    expect(answer).toContain('"Research AI trends" is ready (run 1).')
    expect(await work()).toMatchObject([
      { agent_type: 'research', frequency_cron: '0 9 * * 1', is_active: true, user_id: 'ann' },
    ])
    expect(await say('show me the results of AI trends')).toMatch(
      /^Run 1, .*: Research AI trends\nFound on Research AI trends\.$/,
    )
    expect(await say('pause AI trends')).toContain('Paused: “Research AI trends”')
    expect(await work()).toMatchObject([{ is_active: false, next_run_at: null }])
    expect(await say('what is planned?')).toContain('Nothing is planned')
    const resting = '“Research AI trends” is paused. Say “resume Research AI trends”'
    expect(await say('move AI trends to every friday at 10am')).toContain(resting)
    expect(await say('pause AI trends')).toContain(resting)
    expect(await say('resume AI trends')).toContain('Resumed: “Research AI trends”')
    expect(await work()).toMatchObject([{ is_active: true }])
    expect(await say('move AI trends to every friday at 10am')).toContain(
      'Moved: “Research AI trends”',
    )
    expect(await work()).toMatchObject([{ frequency_cron: '0 10 * * 5', is_active: true }])
    await say('pause AI trends')
    expect(await say('cancel AI trends')).toContain('Cancelled: “Research AI trends”')
    expect(await work()).toEqual([])
  })

  it('content says that a model is needed; a watch can be paused, a reminder cannot', async () => {
    expect(await say('write a short article about tea every day at 9')).toContain(
      '(Texts are written by a chat model',
    )
    expect(await work()).toMatchObject([{ agent_type: 'content', frequency_cron: '0 9 * * *' }])
    await say('tell me when NVDA is below 130')
    expect(await say('pause NVDA')).toContain('Paused: “NVDA is below 130”')
    expect(await w.query('select 1 from wakeful.scheduled_intents where enabled')).toEqual([])
    expect(await say('resume NVDA')).toContain('Resumed')
    expect(await w.query('select 1 from wakeful.scheduled_intents where enabled')).toHaveLength(1)
    await say('remind me in 2 hours to stretch')
    expect(await say('pause stretch')).toContain('Only work and what I watch can be paused')
  })
})
