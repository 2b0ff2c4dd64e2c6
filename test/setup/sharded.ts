/** Which tests run on several shards, too. */

/** In every run: what only shards have, each door, each trigger, lists, and whose is what. */
export const SHARDED_ALWAYS = [
  'test/shards/*.test.ts',
  'test/sessions/{corridor,lists,socket}.test.ts',
  'test/alarms/lifecycle.test.ts',
  'test/api/{signals,intents-pending,work}.test.ts',
  'test/identity/walk.test.ts',
  'test/schedules/{client,operations}.test.ts',
]

/** By `npm run test:shards`: whatever is about behaviour. */
export const SHARDED = [
  ...SHARDED_ALWAYS,
  'test/{sessions,alarms,api,identity,ledger,triggers,agents,companion,doors,langgraph,mcp,sources,tracing,files,http}/*.test.ts',
]

/** Their tests reach into the one store that they expect: they write rows and claim them by hand, or count what every shard has. */
export const ONE_STORE = [
  'test/alarms/{cancel,fences,fires,model,routes,search,wakes}.test.ts',
  'test/agents/executors.test.ts',
  'test/identity/owners.test.ts',
  'test/ledger/scenarios.test.ts',
  'test/sessions/heard.test.ts',
  'test/sources/service.test.ts',
  'test/triggers/{intent-runs,work-model,work-years}.test.ts',
]
