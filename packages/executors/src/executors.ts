/** The executors that are there without an app's own; an app's executor of the same name takes the place of one. */

import type { Executor } from '../../../src/agents/executor.ts'
import type { Db } from '../../../src/store/db.ts'
import type { ChatModel } from '../../model/src/model.ts'
import { content } from './chat.ts'
import type { Places } from './look.ts'
import { reporting } from './reporting.ts'
import { research } from './research.ts'

export function builtInExecutors(parts: {
  /** Where the rows of this person are. */
  readonly dbOf: (userId: string) => Db
  readonly model: ChatModel
  readonly places: Places
}): ReadonlyMap<string, Executor> {
  return new Map([
    ['reporting', reporting(parts)],
    ['research', research(parts.model, parts.places)],
    ['content', content(parts.model)],
  ])
}
