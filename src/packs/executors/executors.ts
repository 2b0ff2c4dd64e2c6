/** The executors that are there without an app's own; an app's executor of the same name takes the place of one. */

import type { Executor } from '../../agents/executor.ts'
import type { Db } from '../../store/db/db.ts'
import type { ChatModel } from '../model/model.ts'
import { content, research } from './chat.ts'
import { reporting } from './reporting.ts'

export function builtInExecutors(parts: {
  readonly db: Db
  readonly model: ChatModel
}): ReadonlyMap<string, Executor> {
  return new Map([
    ['reporting', reporting(parts)],
    ['research', research(parts.model)],
    ['content', content(parts.model)],
  ])
}
