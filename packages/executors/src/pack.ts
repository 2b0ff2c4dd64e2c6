/** The built-in executors of work; an app's executor of the same name replaces one. */
import type { Pack } from '../../../src/app/pack.ts'
import { wallClock } from '../../../src/clock.ts'
import { HTTP_URL, isHttpUrl, type Reader } from '../../../src/core/variables.ts'
import type { ModelSettings } from '../../model/src/model.ts'
import type { SourcesSettings } from '../../sources/src/pack.ts'

export interface ExecutorsSettings {
  readonly model: ModelSettings
  /** A JSON search endpoint for `research`. */
  readonly searchUrl: string | null
}

export const executorsPack = {
  name: 'executors',
  readSettings(read: Reader): ExecutorsSettings {
    return {
      model: {
        url: read.checked('WAKEFUL_MODEL_URL', isHttpUrl, HTTP_URL, 'secret'),
        key: read.text('WAKEFUL_MODEL_KEY'),
        name: read.text('WAKEFUL_MODEL'),
      },
      searchUrl: read.outgoingUrl('WAKEFUL_SEARCH_URL'),
    }
  },
  async open({ model: settings, searchUrl, sources: { feeds } }, app) {
    const [{ HttpModel }, { content }, { reporting }, { research }] = await Promise.all([
      import('../../model/src/model.ts'),
      import('./chat.ts'),
      import('./reporting.ts'),
      import('./research.ts'),
    ])
    const model = new HttpModel(settings, { now: () => new Date(wallClock()) })
    const places = { feeds, search: searchUrl, fetch: app.fetch.bind(app) }
    return {
      executors: new Map([
        ['reporting', reporting({ dbOf: (userId) => app.stores.ofUser(userId).db })],
        ['research', research(model, places)],
        ['content', content(model)],
      ]),
      close: () => model.close(),
    }
  },
} as const satisfies Pack<ExecutorsSettings, ExecutorsSettings & SourcesSettings>
