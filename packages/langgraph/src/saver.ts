/**
 * LangGraph's checkpointer on Wakeful's tables. Within a turn it keeps what a run puts in memory, and at the end hands the rows to
 * the turn's commit: state and effects are written together. Outside of a turn each put is a transaction of its own.
 */
import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { RunnableConfig } from '@langchain/core/runnables'
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite as Put,
  TASKS,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint'
import { bucketOf, parseSessionKey } from '../../../src/core/session.ts'
import { readSessionMetadata } from '../../../src/features/sessions/checkpoint.ts'
import type {
  BlobWrite,
  CheckpointWrite,
  PendingWrite,
} from '../../../src/features/sessions/checkpoint-rows.ts'
import type { Db } from '../../../src/store/db.ts'
import {
  deleteGraphThread,
  GRAPH_POINT,
  type GraphRows,
  getPoint,
  listPoints,
  newestPoint,
  type PointRef,
  type PointRow,
  readBlobs,
  readWrites,
  writeGraphRows,
} from './checkpoint-rows.ts'
import { joined, Kept, type TurnRows } from './kept.ts'

/** The one session a turn may see, and the checkpoint its last turn ended in. */
interface TurnScope {
  readonly key: string
  readonly bucket: number
  readonly head: string | null
  /** Root channels that start each turn as if never written. */
  readonly fresh: readonly string[]
}

type Place = Omit<PointRef, 'id'>
type StoredCheckpoint = Omit<Checkpoint, 'channel_values'>
type Cell = Pick<PendingWrite, 'taskId' | 'idx' | 'channel' | 'type' | 'blob'>

/** Rows per page of a list. */
const PAGE = 100
/** From this format on, pending sends live in the checkpoint itself, not in its parent's writes. */
const SENDS_WITHIN = 4
/** In `checkpoint_blobs.type`: the channel had a version and no value. */
const EMPTY = 'empty'
const VERSION_DIGITS = 16

export class GraphSaver extends BaseCheckpointSaver<string> {
  readonly #db: Db
  readonly #scope: TurnScope | null
  readonly #kept = new Kept()
  /** What is committed cannot change under a turn's lease: each row is read once per turn. */
  readonly #read = new Map<string, Promise<unknown>>()

  constructor(db: Db, scope: TurnScope | null = null) {
    super()
    this.#db = db
    this.#scope = scope
  }

  /** Unique beyond its number, so that two branches of one thread never share a stored value. */
  override getNextVersion(current: string | undefined): string {
    const number = current === undefined ? 0 : Number.parseInt(String(current), 10)
    return `${String(number + 1).padStart(VERSION_DIGITS, '0')}.${randomBytes(6).toString('hex')}`
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const place = this.#placeOf(config)
    if (place === null) return undefined
    const id = getCheckpointId(config)
    const point = id === '' ? await this.#newest(place) : await this.#find({ ...place, id })
    return point === null ? undefined : this.#tuple(point)
  }

  override async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    let left = options.limit ?? Number.POSITIVE_INFINITY
    const wanted = Object.entries(options.filter ?? {})
    for await (const point of this.#scan(config, options.before)) {
      if (left <= 0) return
      const metadata = metadataOf(point) as unknown as Record<string, unknown>
      if (!wanted.every(([key, value]) => isDeepStrictEqual(metadata[key], value))) continue
      left--
      yield await this.#tuple(point)
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const place = this.#placeToWrite(config)
    const { channel_values: values, ...rest } = checkpoint
    const blobs = await Promise.all(
      Object.entries(newVersions).map(([channel, version]) =>
        this.#blob(place, channel, String(version), values),
      ),
    )
    const point: CheckpointWrite = {
      ...place,
      id: checkpoint.id,
      parentId: await this.#parentOf(place, checkpoint.id, getCheckpointId(config)),
      type: GRAPH_POINT,
      checkpoint: JSON.stringify(rest),
      metadata: JSON.stringify(metadata),
    }
    await this.#keep({ points: [point], blobs, writes: [] })
    return configOf(point)
  }

  override async putWrites(config: RunnableConfig, writes: Put[], taskId: string): Promise<void> {
    const place = this.#placeToWrite(config)
    const checkpointId = getCheckpointId(config)
    if (checkpointId === '') throw new Error('putWrites: the config has no checkpoint_id')
    const rows = writes.map(async ([channel, value], position): Promise<PendingWrite> => {
      const [type, blob] = await this.serde.dumpsTyped(value)
      const idx = WRITES_IDX_MAP[channel] ?? position
      return { ...place, checkpointId, taskId, idx, channel, type, blob, taskPath: '' }
    })
    await this.#keep({ points: [], blobs: [], writes: await Promise.all(rows) })
  }

  override async deleteThread(threadId: string): Promise<void> {
    if (this.#scope !== null) throw new Error('deleteThread: a turn cannot delete a thread')
    const bucket = bucketOfThread(threadId)
    await deleteGraphThread(this.#at(bucket), bucket, threadId)
  }

  /** What the run put, for the turn's commit. */
  take(): TurnRows {
    return this.#kept.rows()
  }

  async #keep(rows: GraphRows): Promise<void> {
    const [row] = [...rows.points, ...rows.blobs, ...rows.writes]
    if (this.#scope !== null) this.#kept.add(rows)
    else if (row !== undefined) await writeGraphRows(this.#at(row.bucket), rows)
  }

  /** A turn's own store is that of its person; outside of turns there may be several shards. */
  #at(bucket: number): Db {
    return this.#db.shards?.ofBucket(bucket) ?? this.#db
  }

  /** Null if no thread is named, or a thread other than the turn's. */
  #placeOf(config: RunnableConfig): Place | null {
    const threadId: unknown = config.configurable?.thread_id
    if (typeof threadId !== 'string') return null
    if (this.#scope !== null && threadId !== this.#scope.key) return null
    const ns: unknown = config.configurable?.checkpoint_ns
    return {
      bucket: this.#scope?.bucket ?? bucketOfThread(threadId),
      threadId,
      ns: typeof ns === 'string' ? ns : '',
    }
  }

  #placeToWrite(config: RunnableConfig): Place {
    const place = this.#placeOf(config)
    if (place !== null) return place
    const own = this.#scope === null ? 'a string' : `the session's key ${this.#scope.key}`
    throw new Error(
      `a checkpoint needs configurable.thread_id to be ${own}, got: ${String(config.configurable?.thread_id)}`,
    )
  }

  async #newest(place: Place): Promise<CheckpointWrite | null> {
    const put = this.#kept.newest(place.ns)
    if (put !== undefined) return put
    if (this.#scope !== null && place.ns === '') {
      // Not the newest row: the one the session's last committed turn ended in.
      return this.#scope.head === null ? null : this.#find({ ...place, id: this.#scope.head })
    }
    return this.#once(joined('newest', place.ns), async () =>
      asWrite(await newestPoint(this.#at(place.bucket), place)),
    )
  }

  async #find(ref: PointRef): Promise<CheckpointWrite | null> {
    const put = this.#kept.point(ref)
    if (put !== undefined) return put
    return this.#once(joined('point', ref.ns, ref.id), async () =>
      asWrite(await getPoint(this.#at(ref.bucket), ref)),
    )
  }

  /** A run that stops where it was resumed puts its checkpoint under the same id again: the parent stays. */
  async #parentOf(place: Place, id: string, parentId: string): Promise<string | null> {
    if (parentId !== id) return parentId === '' ? null : parentId
    return (await this.#find({ ...place, id }))?.parentId ?? null
  }

  async *#scan(
    config: RunnableConfig,
    before: RunnableConfig | undefined,
  ): AsyncGenerator<CheckpointWrite> {
    const threadId: unknown = config.configurable?.thread_id ?? this.#scope?.key
    const place =
      threadId === undefined ? null : this.#placeOf({ configurable: { thread_id: threadId } })
    if (threadId !== undefined && place === null) return
    const ns: unknown = config.configurable?.checkpoint_ns
    const page = {
      thread: place === null ? null : { bucket: place.bucket, id: place.threadId },
      ns: typeof ns === 'string' ? ns : null,
      id: getCheckpointId(config) || null,
      beforeId: before === undefined ? null : getCheckpointId(before) || null,
      limit: PAGE,
    }
    for (const point of this.#kept.newestFirst()) {
      if (page.ns !== null && point.ns !== page.ns) continue
      if (page.id !== null && point.id !== page.id) continue
      if (page.beforeId === null || point.id < page.beforeId) yield point
    }
    const dbs = place === null ? (this.#db.shards?.all ?? [this.#db]) : [this.#at(place.bucket)]
    for (const db of dbs)
      for await (const row of pointsIn(db, page)) {
        const point = asWrite(row)
        if (point !== null && this.#kept.point(point) === undefined) yield point
      }
  }

  async #tuple(point: CheckpointWrite): Promise<CheckpointTuple> {
    const stored = JSON.parse(point.checkpoint) as StoredCheckpoint
    if (this.#isHead(point))
      for (const channel of this.#scope?.fresh ?? []) delete stored.channel_versions[channel]
    const [values, pendingWrites] = await Promise.all([
      this.#values(point, stored),
      this.#pending(point),
    ])
    const checkpoint: Checkpoint = { ...stored, channel_values: values }
    if (checkpoint.v < SENDS_WITHIN && point.parentId !== null)
      await this.#adoptSends(checkpoint, { ...point, id: point.parentId })
    return {
      config: configOf(point),
      checkpoint,
      metadata: metadataOf(point),
      pendingWrites,
      ...(point.parentId === null
        ? {}
        : { parentConfig: configOf({ ...point, id: point.parentId }) }),
    }
  }

  /** The committed one this turn starts from, as long as the run did not put it again. */
  #isHead(point: CheckpointWrite): boolean {
    return (
      point.ns === '' && point.id === this.#scope?.head && this.#kept.point(point) === undefined
    )
  }

  async #values(
    point: CheckpointWrite,
    stored: StoredCheckpoint,
  ): Promise<Record<string, unknown>> {
    const refs = Object.entries(stored.channel_versions).map(([channel, version]) => ({
      ...placeIn(point),
      channel,
      version: String(version),
    }))
    const kept = refs.flatMap((ref) => this.#kept.blob(ref) ?? [])
    const missing = refs.filter((ref) => this.#kept.blob(ref) === undefined)
    const keys = missing.map(({ channel, version }) => joined(channel, version))
    const committed = await this.#once(joined('blobs', point.ns, ...keys), () =>
      readBlobs(this.#at(point.bucket), missing),
    )
    const rows = [...kept, ...committed]
    const loaded = rows
      .filter((row) => row.type !== EMPTY)
      .map(
        async ({ channel, type, blob }) =>
          [channel, await this.serde.loadsTyped(type, blob ?? new Uint8Array())] as const,
      )
    return Object.fromEntries(await Promise.all(loaded))
  }

  async #blob(
    place: Place,
    channel: string,
    version: string,
    values: Record<string, unknown>,
  ): Promise<BlobWrite> {
    if (!Object.hasOwn(values, channel))
      return { ...place, channel, version, type: EMPTY, blob: null }
    const [type, blob] = await this.serde.dumpsTyped(values[channel])
    return { ...place, channel, version, type, blob }
  }

  async #pending(point: PointRef): Promise<CheckpointPendingWrite[]> {
    const cells = await this.#cells(point)
    return Promise.all(
      cells.map(
        async ({ taskId, channel, type, blob }): Promise<CheckpointPendingWrite> => [
          taskId,
          channel,
          await this.serde.loadsTyped(type ?? 'json', blob),
        ],
      ),
    )
  }

  /** By task and position, as LangGraph replays them. */
  async #cells(point: PointRef): Promise<Cell[]> {
    const rows = await this.#once(joined('writes', point.ns, point.id), () =>
      readWrites(this.#at(point.bucket), point),
    )
    const cells = new Map<string, Cell>()
    for (const { task_id: taskId, ...row } of rows)
      cells.set(joined(taskId, row.idx), { taskId, ...row })
    for (const write of this.#kept.writes(point)) cells.set(joined(write.taskId, write.idx), write)
    return [...cells.values()].sort((a, b) =>
      a.taskId < b.taskId ? -1 : a.taskId > b.taskId ? 1 : a.idx - b.idx,
    )
  }

  async #adoptSends(checkpoint: Checkpoint, parent: PointRef): Promise<void> {
    const sends = (await this.#pending(parent)).filter(([, channel]) => channel === TASKS)
    const versions = Object.values(checkpoint.channel_versions)
    checkpoint.channel_values[TASKS] = sends.map(([, , value]) => value)
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined)
  }

  #once<T>(key: string, read: () => Promise<T>): Promise<T> {
    if (this.#scope === null) return read()
    const known = this.#read.get(key) as Promise<T> | undefined
    if (known !== undefined) return known
    const reading = read()
    this.#read.set(key, reading)
    return reading
  }
}

/** A thread that is a session lives in its user's bucket, any other in one of its own. */
function bucketOfThread(threadId: string): number {
  return bucketOf(parseSessionKey(threadId)?.userId ?? threadId)
}

/** Checked: a point that a newer Wakeful has written is not misread as one of ours. */
function metadataOf({ metadata }: CheckpointWrite): CheckpointMetadata {
  const read = JSON.parse(metadata) as CheckpointMetadata
  readSessionMetadata(read)
  return read
}

const placeIn = ({ bucket, threadId, ns }: Place): Place => ({ bucket, threadId, ns })

function configOf(point: PointRef): RunnableConfig {
  return {
    configurable: { thread_id: point.threadId, checkpoint_ns: point.ns, checkpoint_id: point.id },
  }
}

function asWrite(row: PointRow | null): CheckpointWrite | null {
  if (row === null) return null
  return {
    bucket: row.bucket,
    threadId: row.thread_id,
    ns: row.checkpoint_ns,
    id: row.checkpoint_id,
    parentId: row.parent_checkpoint_id,
    type: GRAPH_POINT,
    checkpoint: row.checkpoint,
    metadata: row.metadata,
  }
}

async function* pointsIn(
  db: Db,
  page: Omit<Parameters<typeof listPoints>[1], 'after'>,
): AsyncGenerator<PointRow> {
  for (let after: PointRow | null = null; ; ) {
    const rows: PointRow[] = await listPoints(db, { ...page, after })
    yield* rows
    after = rows.at(-1) ?? null
    if (rows.length < PAGE) return
  }
}
