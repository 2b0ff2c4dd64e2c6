/** Contract: silence of a turn that no message began: kept with the turn and shown by the ledger. */
import { expect, it } from 'vitest'
import { Turn } from '../../src/agents/function.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000

eachStore('silence', (store) => {
  let act: (turn: Turn) => void = () => undefined
  const at = sharedStage(store, {
    agents: {
      bot: (turn: Turn) =>
        turn.event.type === 'user_message'
          ? turn.schedule('again', { in: 60, cancelOnReply: true })
          : act(turn),
    },
  })
  const ledger = async (agent: (turn: Turn) => void) => {
    act = agent
    await at().call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'go' })
    await at().settle()
    await at().advanceBy(2 * MINUTE)
    const { data } = (await at().call('GET', '/v1/ledger?user_id=ann')).body
    const effects = await at().call('GET', '/v1/sessions/ann:bot:t/effects')
    expect(
      effects.body.data.filter((each: { type: string }) => each.type === 'send_message'),
    ).toEqual([])
    return data[0]
  }

  it('has its reason', async () => {
    expect(await ledger((turn) => turn.silent('nothing has changed'))).toMatchObject({
      outcome: 'silent',
      reason: { rule: 'silent' },
      verdicts: [{ allowed: true, rule: 'silent', reason: 'nothing has changed' }],
      words: expect.stringMatching(/^The agent stayed silent at .*: nothing has changed\.$/),
    })
  })

  it('of a model that decided nothing has what it wrote', async () => {
    const entry = await ledger((turn) => Turn.record(turn, 'undecided', 'All quiet.\0'))
    expect(entry).toMatchObject({
      outcome: 'silent',
      reason: { rule: 'undecided' },
      verdicts: [{ rule: 'undecided', text: 'All quiet.\ufffd' }],
      words: expect.stringContaining('it wrote, not delivered: "All quiet.'),
    })
  })

  it('without a reason is silence as before', async () => {
    expect(await ledger(() => undefined)).toMatchObject({ outcome: 'silent', reason: null })
  })
})
