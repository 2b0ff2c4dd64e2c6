/**
 * The slowest files first, so that the last worker does not run one of them alone at the end. Above all those that wait
 * for processes and leases: the others use the CPU meanwhile. The rest by size, as vitest does where it knows nothing.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const SLOW = [
  'simulate/simulate',
  'frameworks/kill',
  'faults/faults',
  'docs/blocks',
  'slices/split',
  'channels/laws',
  'process/embedded-kill',
  'triggers/work-years',
  'ledger/scenarios',
  'mcp/stdio',
  'process/work-kill',
  'process/many',
  'channels/kill',
  'people/race',
  'store/pglite',
  'sessions/delivery',
  'console/overview',
  'console/console',
  'console/making',
  'alarms/processes',
  'alarms/model',
  'identity/commands',
  'triggers/work-model',
  'cli/commands',
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
