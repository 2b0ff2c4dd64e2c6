/** Checks that agents schedule what they announce, if enabled and a chat model is configured. */
import type { Pack } from '../../../src/app/pack.ts'
import { wallClock } from '../../../src/clock.ts'
import type { Reader } from '../../../src/core/variables.ts'
import type { ExecutorsSettings } from '../../executors/src/pack.ts'

export interface BackingSettings {
  readonly checksPromises: boolean
}

const NAME = 'WAKEFUL_CHECK_PROMISES'
const TAKES = 'true only where WAKEFUL_MODEL_URL and WAKEFUL_MODEL are set'

export const backingPack = {
  name: 'backing',
  readSettings(read: Reader): BackingSettings {
    const checksPromises = read.flag(NAME, false)
    const asks = read.text('WAKEFUL_MODEL_URL') !== null && read.text('WAKEFUL_MODEL') !== null
    if (checksPromises && !asks) read.refuse(NAME, 'true', TAKES)
    return { checksPromises }
  },
  async open({ checksPromises, model: settings }, { meter }) {
    if (!checksPromises) return {}
    const [{ HttpModel }, { backed }] = await Promise.all([
      import('../../model/src/model.ts'),
      import('./backed.ts'),
    ])
    const model = new HttpModel(settings, { now: () => new Date(wallClock()) })
    const trouble = (error: unknown) => meter.trouble('backing', error)
    return { around: (agent) => backed(agent, { model, trouble }), close: () => model.close() }
  },
} as const satisfies Pack<BackingSettings, BackingSettings & ExecutorsSettings>
