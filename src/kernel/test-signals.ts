/** Named moments that tests wait for, or kill at. Silent and free unless somebody listens. */
export type Moment = 'claimed' | 'delivered' | 'committed' | 'promoted'

export interface TestSignals {
  reach(moment: Moment, key: string): void | Promise<void>
}

export const SILENT: TestSignals = { reach: () => undefined }
