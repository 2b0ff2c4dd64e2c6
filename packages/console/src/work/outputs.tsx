/** What the runs of one work produced, newest first: read as Markdown, saved as files, watched while they run. */
import { lazy, Suspense, useState } from 'react'
import { usePages } from '../lists/pages.ts'
import { useNow } from '../parts/clock.ts'
import { Badge, Button, Empty } from '../parts/parts.tsx'
import { ProgressBar } from '../parts/progress.tsx'
import { fromNow, lasting, timeOf } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { Download } from './download.tsx'
import { isLive, OUTPUT_TONES, type Output, type Work } from './shapes.ts'

/** The Markdown reader is loaded with the first output that is read. */
const Markdown = lazy(() =>
  import('../markdown/markdown.tsx').then((module) => ({ default: module.Markdown })),
)
/** As many as come with the work itself. */
const NEWEST_ROWS = 20
const OLDER_ROWS = 100
const OLDER_LOOK_MS = 60_000

/** `outputs` are the newest, looked at while they run; older ones are read when asked for. */
export function Outputs({ work, outputs }: { work: Work; outputs: readonly Output[] }) {
  const [back, setBack] = useState(false)
  const older = usePages<Output>({
    key: ['work', 'outputs', work.id],
    path: `v1/work/${work.id}/outputs`,
    rows: OLDER_ROWS,
    everyMs: OLDER_LOOK_MS,
    enabled: back,
  })
  const known = new Set(outputs.map(({ id }) => id))
  const all = [...outputs, ...(older.rows ?? []).filter(({ id }) => !known.has(id))]
  const newest = all.find(({ content }) => content !== null && content !== '')
  const more = back ? older.hasNextPage : outputs.length >= NEWEST_ROWS
  return (
    <section aria-label="Outputs" className="flex min-w-0 flex-col gap-4">
      {all.length === 0 && (
        <Empty title="No output yet">
          Each run leaves one here. “Run now” does not wait for the next time.
        </Empty>
      )}
      {all.map((output) => (
        <OutputCard key={output.id} work={work} output={output} open={output === newest} />
      ))}
      {older.error !== null && <Trouble error={older.error} />}
      {more && (
        <Button
          disabled={older.isFetching}
          onClick={() => (back ? void older.fetchNextPage() : setBack(true))}
        >
          Show older outputs
        </Button>
      )}
    </section>
  )
}

function OutputCard(props: { work: Work; output: Output; open: boolean }) {
  const { work, output } = props
  const [chosen, setChosen] = useState<boolean | null>(null)
  const open = chosen ?? props.open
  const name = output.title ?? `Run ${output.run_number}`
  return (
    <article aria-label={name} className="rounded-xl border border-line bg-panel">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-3">
        <h2 className="min-w-0 flex-1 basis-52 font-semibold wrap-anywhere">{name}</h2>
        <Badge tone={OUTPUT_TONES[output.status]}>{output.status}</Badge>
        <Took output={output} />
        {output.content !== null && output.content !== '' && (
          <Button
            className="min-h-8"
            aria-expanded={open}
            aria-label={`${open ? 'Fold' : 'Read'} ${name}`}
            onClick={() => setChosen(!open)}
          >
            {open ? 'Fold' : 'Read'}
          </Button>
        )}
      </header>
      {isLive(output) && <Progress output={output} />}
      {output.error_message !== null && (
        <p className="px-4 pb-3 text-sm text-bad wrap-anywhere">{output.error_message}</p>
      )}
      {output.file_url !== null && <Download work={work} output={output} />}
      {open && output.content !== null && output.content !== '' && (
        <div className="border-t border-line px-4 py-4">
          <Suspense fallback={<p className="text-sm text-muted">Loading …</p>}>
            <Markdown text={output.content} />
          </Suspense>
        </div>
      )}
    </article>
  )
}

function Took({ output }: { output: Output }) {
  const now = useNow()
  const { run_number: run, started_at: started, completed_at: ended, attempt } = output
  const took =
    started !== null && ended !== null ? Date.parse(ended) - Date.parse(started) : undefined
  const at = ended ?? started ?? output.created_at
  return (
    <span className="text-sm text-muted">
      run {run} ·{' '}
      <time dateTime={at} title={timeOf(at, now)}>
        {fromNow(at, now)}
      </time>
      {took !== undefined && ` · took ${lasting(took)}`}
      {attempt > 1 && ` · attempt ${attempt}`}
    </span>
  )
}

function Progress({ output }: { output: Output }) {
  const { progress, progress_note: note, status } = output
  return (
    <div className="px-4 pb-4">
      <ProgressBar
        label={`Progress of run ${output.run_number}`}
        words={status === 'pending' ? 'Waiting to start' : (note ?? 'Running')}
        share={progress}
      />
    </div>
  )
}
