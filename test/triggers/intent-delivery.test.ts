/** From a fact to a follow-up in somebody's hands: the real server, a real socket, both stores, on a test clock. */
import { expect, it } from 'vitest'
import { Client } from '../sessions/live.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { HOUR, intentsStage, MINUTE, NVDA } from './intents-stage.ts'

eachStore('intents delivered', (store) => {
  const open = intentsStage(store, {
    agents: {
      bot: (turn) => {
        const { trigger_type, trigger_data } = turn.event.payload as {
          trigger_type?: string
          trigger_data: Record<string, unknown>
        }
        if (trigger_type === undefined) return
        const { price, silent_hours, headline, title } = trigger_data
        turn.say(`${trigger_type}: ${price ?? silent_hours ?? headline ?? title}`)
      },
    },
  })

  it('a price crossing, a two-day silence, a headline and a calendar entry each reach their person', async () => {
    const i = await open()
    const hears = async (
      thread: string,
      body: Record<string, unknown>,
      happen: () => Promise<unknown>,
    ) => {
      const made = await i.make({ ...body, intent_name: thread, thread_id: thread })
      await i.s.settle()
      const client = await Client.open(i.s.url, `ann:bot:${thread}`)
      try {
        await happen()
        await i.s.settle()
        const [frame] = await client.hears(1)
        expect(frame).toMatchObject({
          type: 'agent_follow_up',
          origin: { kind: 'intent', id: made.id },
        })
        client.ack(frame?.id ?? '')
        await until('delivered', async () => {
          await i.s.settle()
          const rows = await i.s.query<{ status: string }>(
            'select status from wakeful.effects where id = $1',
            [frame?.id],
          )
          return rows[0]?.status === 'completed'
        })
        const [{ delivery_ms: ms }] = await i.history(made.id)
        expect(ms).toBeGreaterThanOrEqual(0)
        expect((await i.history(made.id))[0]).toMatchObject({
          status: 'success',
          message_id: frame?.id,
          message_preview: frame?.content,
        })
        return frame?.content
      } finally {
        client.drop()
        // Others need not be looked at through the days that follow.
        await i.s.call('DELETE', `/v1/intents/${made.id}`)
      }
    }
    expect(await hears('price', NVDA, () => i.price(129.5))).toBe('price: 129.5')
    const news = { trigger_type: 'news', trigger_condition: { keywords: ['rate cut'] } }
    expect(await hears('news', news, () => i.tell({ kind: 'news', headline: 'A rate cut' }))).toBe(
      'news: A rate cut',
    )
    const calendar = { trigger_type: 'calendar', trigger_condition: { value: 10 } }
    const starts_at = new Date(i.s.now().getTime() + HOUR).toISOString()
    expect(
      await hears('calendar', calendar, async () => {
        await i.tell({ kind: 'calendar', uid: 'u', title: 'Dentist', starts_at, user_id: 'ann' })
        await i.s.advanceBy(50 * MINUTE)
      }),
    ).toBe('calendar: Dentist')
    const silence = { trigger_type: 'silence', trigger_condition: { threshold_hours: 48 } }
    await i.s.call('POST', '/v1/sessions/ann:bot:elsewhere/messages', { text: 'good night' })
    expect(await hears('silence', silence, () => i.s.advanceBy(48 * HOUR))).toBe('silence: 48')
  })
})
