/**
 * The slowest files first, so that the last worker does not run one of them alone at the end. Above all those that wait
 * for processes and leases: the others use the CPU meanwhile. The rest by size, as vitest does where it knows nothing.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const SLOW = [
  'frameworks/kill',
  'faults/faults',
  'simulate/simulate',
  'docs/blocks',
  'ledger/scenarios',
  'console/overview',
  'process/embedded-kill',
  'package/init',
  'channels/laws',
  'forecast/forecast',
  'store/migrate',
  'cli/commands',
  'shards/split',
  'forecast/equals',
  'process/work-kill',
  'console/making',
  'sessions/delivery',
  'channels/kill',
  'subscriptions/ai-sdk',
  'alarms/processes',
  'identity/commands',
  'process/promise-kill',
  'mcp/stdio',
  'console/large',
  'console/console',
  'store/pglite',
  'process/many',
  'triggers/work-years',
  'package/package',
  'examples/outside-worker',
  'langgraph/shapes',
  'alarms/model',
  'people/race',
  'telegram/live',
  'triggers/work-model',
  'tracing/trace',
]

function rank({ moduleId }: TestSpecification): number {
  const found = SLOW.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  return found === -1 ? SLOW.length : found
}

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}
