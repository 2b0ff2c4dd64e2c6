/** Standing wishes and work that are there: paused, resumed, and read. */
import type { Turn } from '../../../src/agents/function.ts'
import type { Planned } from '../../../src/agents/reads.ts'
import { outputsText } from './held.ts'
import type { Place, Target } from './meaning.ts'
import { type Answer, find, paused } from './plans.ts'
import { planText, quoted } from './replies.ts'

const said = (text: string): Answer => ({ text, checkIn: false })

export async function pause(turn: Turn, target: Target, place: Place): Promise<Answer> {
  const found = await find(turn, target, { about: 'pause', count: 0 }, place)
  if ('answer' in found) return found.answer
  const { plan } = found
  const told = planText(plan, place)
  if (plan.kind === 'work') await turn.updateWork(plan.id, { is_active: false })
  else if (plan.kind === 'intent') await turn.updateIntent(plan.id, { enabled: false })
  else
    return said(
      `Only work and what I watch can be paused; this is neither: ${told}. Say “cancel” to end it.`,
    )
  return said(`Paused: ${told}. Say “resume ${plan.title.slice(0, 60)}” to go on with it.`)
}

export async function resume(turn: Turn, target: Target, place: Place): Promise<Answer> {
  const found = await find(turn, target, { about: 'resume', count: 0 }, place, await paused(turn))
  if ('answer' in found) return found.answer
  const { kind, id, title, when } = found.plan
  if (kind === 'work') await turn.updateWork(id, { is_active: true })
  else await turn.updateIntent(id, { enabled: true })
  return said(`Resumed: ${quoted(title)}, ${when}.`)
}

export async function outputs(turn: Turn, target: Target, place: Place): Promise<Answer> {
  const all = (await turn.listWork()).map((row): Planned => {
    const { id, task: title, description: when, timezone, next_run_at: next_at } = row
    return { kind: 'work', id, title, when, timezone, next_at, again: row.is_active, rhythm: null }
  })
  const found = await find(turn, target, { about: 'outputs', count: 0 }, place, all)
  if ('answer' in found) return found.answer
  const runs = (await turn.workOutputs(found.plan.id, 1)) ?? []
  return said(outputsText(runs, turn))
}
