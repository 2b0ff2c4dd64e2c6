/** The crons of LangGraph's API, for its own clients. */
import type { Pack } from '../../../../src/app/pack.ts'
import { operations } from './operations.ts'

export const langgraphCronsPack = { name: 'langgraph-crons', operations } as const satisfies Pack
