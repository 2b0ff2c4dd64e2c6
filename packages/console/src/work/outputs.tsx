/** What the runs of one work produced, newest first: read as Markdown, saved as files, watched while they run. */
import { lazy, Suspense, useState } from 'react'
import { address } from '../api/address.ts'
import { usePages, useRead } from '../api/query.ts'
import { Badge, Button } from '../parts/parts.tsx'
import { ProgressBar } from '../parts/progress.tsx'
import { lasting } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'
import { Download } from './download.tsx'
import { isLive, OUTPUT_TONES, type Output, type Work } from './shapes.ts'

/** The Markdown reader is loaded with the first output that is read. */
const Markdown = lazy(() =>
  import('../markdown/markdown.tsx').then((module) => ({ default: module.Markdown })),
)
const ROWS = 20

export function WorkOutputs({ id }: { id: string }) {
  const path = address(`v1/work/${encodeURIComponent(id)}/outputs`, { limit: ROWS })
  const list = usePages<Output>(path, ['work', 'ledger'])
  const { data } = useRead<{ work: Work }>(`v1/work/${encodeURIComponent(id)}`, ['schedules'])
  const all = list.rows ?? []
  const newest = all.find(({ content }) => content !== null && content !== '')
  return (
    <section aria-label="Outputs" className="flex min-w-0 flex-col gap-3">
      <h3 className="text-[13px] font-semibold">Outputs</h3>
      {list.rows?.length === 0 && (
        <p className="text-[13px] text-muted">No output yet. Each run leaves one here.</p>
      )}
      {data !== undefined &&
        all.map((output) => (
          <OutputCard key={output.id} work={data.work} output={output} open={output === newest} />
        ))}
      {list.error !== null && <Trouble error={list.error} />}
      {list.hasNextPage && (
        <Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
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
    <article aria-label={name} className="rounded-lg border border-line bg-panel">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-3">
        <h2 className="min-w-0 flex-1 basis-52 font-semibold wrap-anywhere">{name}</h2>
        <Badge tone={OUTPUT_TONES[output.status]}>{output.status}</Badge>
        <Took output={output} />
        {output.content !== null && output.content !== '' && (
          <Button
            className="min-h-8"
            aria-expanded={open}
            aria-label={`${open ? 'Collapse' : 'Read'} ${name}`}
            onClick={() => setChosen(!open)}
          >
            {open ? 'Collapse' : 'Read'}
          </Button>
        )}
      </header>
      {isLive(output) && <Progress output={output} />}
      {output.error_message !== null && (
        <p className="px-4 pb-3 text-[13px] text-bad wrap-anywhere">{output.error_message}</p>
      )}
      {output.file_url !== null && <Download work={work} output={output} />}
      {open && output.content !== null && output.content !== '' && (
        <div className="border-t border-line px-4 py-4">
          <Suspense fallback={<p className="text-[13px] text-muted">Loading …</p>}>
            <Markdown text={output.content} />
          </Suspense>
        </div>
      )}
    </article>
  )
}

function Took({ output }: { output: Output }) {
  const { run_number: run, started_at: started, completed_at: ended, attempt } = output
  const took =
    started !== null && ended !== null ? Date.parse(ended) - Date.parse(started) : undefined
  const at = ended ?? started ?? output.created_at
  return (
    <span className="text-[13px] text-muted">
      run {run} · <When at={at} as="relative" />
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
