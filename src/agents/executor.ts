/**
 * Executors: who does the work of one `agent_type`. A registered function is wrapped as an agent, so that
 * its runs are turns like all others: one at a time for each work, under a lease, taken up again after a
 * crash. It knows nothing of the database; its result is written by the turn's commit.
 */
import { TerminalError } from '../core/errors.ts'
import { hasUnstorableJson, storableText } from '../core/text.ts'
import type { TurnAction } from '../features/sessions/turn.ts'
import {
  checkFile,
  type FileOwner,
  fileKey,
  mediaType,
  type WorkFile,
} from '../features/work/file.ts'
import {
  CONTENT_MAX_BYTES,
  type FinishedRun,
  METADATA_MAX_BYTES,
  NOTE_MAX,
  TITLE_MAX,
  WORK_TIMEOUT_MS,
} from '../features/work/rules.ts'
import type { Progress } from '../features/work/slot-rows.ts'
import type { FileKeeper } from '../files/keeper.ts'
import type { Agent, TurnInput, TurnResult } from './agent.ts'
import { excerptOf, type NoticePayload } from './messages.ts'

export type { WorkFile } from '../features/work/file.ts'

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

const TIMEOUT_MAX_MS = 86_400_000

export interface Executor {
  (run: WorkRun): Promise<WorkResult>
  /** How long a run may take; five minutes unless given, at most a day. */
  readonly timeoutMs?: number
  /** Why it can do nothing here, and what to set; then no work is made for it at the doors. */
  readonly missing?: string | null
  /** What is wrong with these parameters; then no work is made with them at the doors. */
  readonly refuses?: (parameters: Readonly<Record<string, unknown>>) => readonly string[]
}

/** What an executor's agent needs of the app. */
export interface ExecutorServices {
  /** Writes how far a run is; never within a transaction of its own. */
  report(progress: Progress): Promise<unknown>
  /** Keeps a run's file until its commit names it. */
  readonly files: Pick<FileKeeper, 'put'>
  /** Reports an error that does not fail the run. */
  trouble(error: unknown): void
}

interface RunPayload {
  readonly work_id: string
  readonly run_number: number
  readonly task: string
  readonly parameters: Readonly<Record<string, unknown>>
  readonly timezone: string
  readonly scheduled_for: string
  readonly missed_count: number
}

/** A run is a turn without a state: what it produces travels to the commit as what the turn asks for. */
export function executorAgent(execute: Executor, services: ExecutorServices): Agent {
  const { timeoutMs = WORK_TIMEOUT_MS } = execute
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > TIMEOUT_MAX_MS)
    throw new TypeError(`timeoutMs: must be from 1 to ${TIMEOUT_MAX_MS} ms, got ${timeoutMs}`)
  return {
    kind: 'executor',
    timeoutMs,
    async run(input): Promise<TurnResult> {
      const payload = JSON.parse(input.event.payload) as RunPayload
      const reporter = new Reporter(input, services)
      try {
        const result = await execute(workRun(input, payload, reporter))
        const output = await finishedRun(input, payload, result, reporter.note, services)
        const wish: TurnAction = { type: 'trigger_command', trigger: 'work', ask: { output } }
        return { wishes: [wish], checkpointId: null, points: [] }
      } catch (error) {
        await reporter.flush()
        throw error
      } finally {
        reporter.close()
      }
    },
  }
}

function workRun(input: TurnInput, payload: RunPayload, reporter: Reporter): WorkRun {
  return {
    task: payload.task,
    parameters: payload.parameters,
    userId: input.session.userId,
    workId: payload.work_id,
    runNumber: payload.run_number,
    scheduledFor: new Date(payload.scheduled_for),
    missedCount: payload.missed_count,
    attempt: input.attempt,
    timezone: payload.timezone,
    get signal() {
      return input.signal
    },
    progress: (share, note) => reporter.say(share, note),
  }
}

/** Checks what came back, since it is somebody else's code, and keeps its file before anything names it. */
async function finishedRun(
  input: TurnInput,
  payload: RunPayload,
  result: WorkResult,
  progressNote: string | null,
  services: ExecutorServices,
): Promise<FinishedRun> {
  const { title, content, metadata } = checkResult(result, payload.task)
  const { work_id: workId, run_number: runNumber } = payload
  const file =
    result.file === undefined
      ? null
      : await keptFile({ bucket: input.session.bucket, workId, runNumber }, result.file, title, {
          put: services.files.put.bind(services.files),
          signal: input.signal,
        })
  const notice: NoticePayload = {
    notice: true,
    work_id: workId,
    run_number: runNumber,
    agent_type: input.session.agentId,
    title,
    excerpt: excerptOf(content, title),
    file_url: file?.url ?? null,
  }
  return {
    title,
    content,
    metadata,
    progressNote,
    file,
    notice: JSON.stringify(notice),
  }
}

function checkResult(result: WorkResult, task: string) {
  if (typeof result !== 'object' || result === null || typeof result.content !== 'string')
    throw new TerminalError('an executor must return { title, content }, content being Markdown')
  const { title, content, metadata = {} } = result
  if (title !== undefined && typeof title !== 'string')
    throw new TerminalError('an executor must return a title that is a string')
  if (Buffer.byteLength(content) > CONTENT_MAX_BYTES)
    throw new TerminalError(
      `content has ${Buffer.byteLength(content)} bytes, takes at most ${CONTENT_MAX_BYTES}: return the rest as file`,
    )
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    throw new TerminalError('metadata takes an object')
  const json = JSON.stringify(metadata)
  if (Buffer.byteLength(json) > METADATA_MAX_BYTES || hasUnstorableJson(json))
    throw new TerminalError(
      `metadata takes at most ${METADATA_MAX_BYTES} bytes of JSON, without NUL or half of a surrogate pair`,
    )
  const named = title?.trim() || (task.trim().split('\n', 1)[0] ?? '')
  return {
    title: storableText(named, TITLE_MAX),
    content: storableText(content, Number.POSITIVE_INFINITY),
    metadata: json,
  }
}

async function keptFile(
  owner: FileOwner,
  given: WorkFile,
  title: string,
  { put, signal }: { put: FileKeeper['put']; signal: AbortSignal },
): Promise<NonNullable<FinishedRun['file']>> {
  const { name, format, bytes } = checkFile(given, title)
  const key = fileKey(owner)
  await put(key, bytes, mediaType(format), signal)
  const url = `/v1/work/${owner.workId}/outputs/${owner.runNumber}/file`
  return { key, url, name, format, bytes: bytes.byteLength }
}

const REPORT_EVERY_MS = 1000

/** Passes on the newest word, at most once a second; nobody waits for it, and nothing fails by it. */
class Reporter {
  readonly #input: TurnInput
  readonly #services: ExecutorServices
  #share = 0
  #unsaid = false
  #timer: NodeJS.Timeout | null = null
  #closed = false
  note: string | null = null

  constructor(input: TurnInput, services: ExecutorServices) {
    this.#input = input
    this.#services = services
  }

  say(share: number, note?: string): void {
    if (typeof share !== 'number' || Number.isNaN(share))
      throw new TypeError('progress: takes a number from 0 to 1')
    if (this.#closed) return
    this.#share = Math.min(1, Math.max(0, share))
    if (note !== undefined) this.note = storableText(String(note), NOTE_MAX)
    this.#unsaid = true
    if (this.#timer === null) void this.flush()
  }

  async flush(): Promise<void> {
    if (!this.#unsaid || this.#closed) return
    this.#unsaid = false
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      void this.flush()
    }, REPORT_EVERY_MS).unref()
    const { session, event, attempt } = this.#input
    const progress = { share: this.#share, note: this.note }
    try {
      await this.#services.report({
        bucket: session.bucket,
        eventId: event.id,
        attempt,
        ...progress,
      })
    } catch (error) {
      this.#services.trouble(error)
    }
  }

  close(): void {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}
