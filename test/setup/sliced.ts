/** Which tests run on several slices, too. */

/** In every run: each door, each trigger, each list, and what only slices have. */
export const SLICED_ALWAYS = [
  'test/slices/*.test.ts',
  'test/sessions/{corridor,lists,socket,timers,gates}.test.ts',
  'test/alarms/{lifecycle,fires,routes}.test.ts',
  'test/api/{signals,intents-pending,overview,work}.test.ts',
  'test/identity/walk.test.ts',
  'test/ledger/routes.test.ts',
]

/** By `npm run test:slices`: whatever is about behaviour, not about one store or its parts. */
export const SLICED = [
  ...SLICED_ALWAYS,
  'test/{sessions,alarms,api,identity,ledger,triggers,agents,companion,doors,langgraph,mcp,sources,tracing,files,http}/*.test.ts',
]
