/** The executors that are there without an app's own. Those that write ask a chat model. */
import type { Pack } from '../../../src/app/pack.ts'
import { wallClock } from '../../../src/clock.ts'
import { HTTP_URL, isHttpUrl, type Reader } from '../../../src/core/variables.ts'
import type { ModelSettings } from '../../model/src/model.ts'
import type { SourcesSettings } from '../../sources/src/pack.ts'

export interface ExecutorsSettings {
  readonly model: ModelSettings
  /** A JSON search that `research` asks. */
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
  async open({ model: settings, searchUrl, sources: { feeds } }, { stores, fetch }) {
    const [{ HttpModel }, { builtInExecutors }] = await Promise.all([
      import('../../model/src/model.ts'),
      import('./executors.ts'),
    ])
    const model = new HttpModel(settings, { now: () => new Date(wallClock()) })
    return {
      executors: builtInExecutors({
        dbOf: (userId) => stores.ofUser(userId).db,
        model,
        places: { feeds, search: searchUrl, fetch },
      }),
      close: () => model.close(),
    }
  },
} as const satisfies Pack<ExecutorsSettings, ExecutorsSettings & SourcesSettings>
