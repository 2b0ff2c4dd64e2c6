/**
 * Executors: who does the work of one `agent_type`. A registered function is wrapped as an agent, so that
 * its runs are turns like all others: one at a time for each work, under a lease, taken up again after a
 * crash. It knows nothing of the database; its result is written by the turn's commit.
 */
import type { WorkFile } from '../core/work-file.ts'

export type { WorkFile } from '../core/work-file.ts'

/** What an executor is called with. */
export interface WorkRun {
  readonly task: string
  readonly parameters: Readonly<Record<string, unknown>>
  readonly userId: string
  readonly workId: string
  /** 1, 2, 3 … of this work. */
  readonly runNumber: number
  /** The nominal instant of this run. */
  readonly scheduledFor: Date
  /** How many further times have passed and go into this run. */
  readonly missedCount: number
  /** From 1; more when a process died over this run. */
  readonly attempt: number
  /** The work's own zone, an IANA name. */
  readonly timezone: string
  /** Aborted when the run's time is up, its lease is lost, its work was deleted, or the process stops. */
  readonly signal: AbortSignal
  /** How far it is, from 0 to 1, and in a few words what it does; shown while it runs. */
  progress(share: number, note?: string): void
}

export interface WorkResult {
  readonly title: string
  /** Markdown. */
  readonly content: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly file?: WorkFile
}

export type Executor = (run: WorkRun) => Promise<WorkResult>
