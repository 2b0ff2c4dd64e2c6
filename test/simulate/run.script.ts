/** `npm run simulate -- --seeds 1000 [--from 1] [--steps 120]`: many seeds, with `--from` in parts that several processes live at once; `--seed 42`: one of them, with its whole story. */
import { parseArgs } from 'node:util'
import { planOf } from './plan.ts'
import { Stage } from './stage.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    steps: { type: 'string', default: '120' },
    seed: { type: 'string' },
  },
})
const one = values.seed !== undefined
const from = Number(values.seed ?? values.from)
const count = one ? 1 : Number(values.seeds)

const stage = await Stage.open()
const failed: number[] = []
let [calls, lived] = [0, from]
// It would have ended the process.
process.on('unhandledRejection', (error) => {
  console.log(`seed ${lived}: nobody heard of ${error}`)
  process.exit(1)
})
for (let seed = from; seed < from + count; seed++) {
  lived = seed
  const play = { seed, plan: planOf(seed, Number(values.steps)) }
  const outcome = await stage.run(play)
  calls += outcome.calls
  if (one) console.log(outcome.story.join('\n'))
  if (outcome.wrong !== null) {
    failed.push(seed)
    console.log(`seed ${seed}, ${values.steps} steps: ${outcome.wrong}`)
    const { plan, outcome: least } = await stage.shrink(play, outcome)
    console.log(`  ${plan.length} of them are enough: ${least.wrong}`)
    for (const line of least.story) console.log(`  ${line}`)
  }
  const done = seed - from + 1
  if (done % 100 === 0 && done < count) console.log(told(done))
}
console.log(told(count))
if (failed.length > 0) console.log(`failed: ${failed.join(' ')}`)
await stage.close()
process.exitCode = failed.length > 0 ? 1 : 0

function told(lives: number): string {
  const { user, system } = process.cpuUsage()
  const cpu = ((user + system) / 1e6 / lives).toFixed(2)
  return `${lives} seeds from ${from}, ${calls} calls let through, ${failed.length} failed, ${cpu} s of CPU each`
}
