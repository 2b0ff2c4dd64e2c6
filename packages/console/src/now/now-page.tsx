/** What happens now: the next hour, day or week in lanes, what has just been, and whether all is well. */
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import type { Kind } from '../api/ledger.ts'
import type { Overview } from '../api/overview.ts'
import { useNow } from '../parts/clock.ts'
import { Empty, Heading, Panel } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { OpenQuestions } from '../questions/open-questions.tsx'
import { Figures } from './figures.tsx'
import { Been, Coming, MarksTable, WantsALook } from './lists.tsx'
import { type Mark, pastMarks, SPANS, type Span, upcomingMarks } from './marks.ts'
import { moreWords, Timeline } from './timeline.tsx'
import { useNowData } from './use-now.ts'

export function NowPage() {
  const [span, setSpan] = useState<Span>('hour')
  const { overview, past, turnsPerMinute } = useNowData(span)
  const now = useNow()
  const coming = useMemo(
    () => (overview.data === undefined ? [] : upcomingMarks(overview.data)),
    [overview.data],
  )
  const been = useMemo(() => pastMarks(past.data ?? []), [past.data])
  const failed = been.filter((mark) => mark.past?.outcome === 'failed')
  const held = been.filter((mark) => isHeld(mark))
  const bare = overview.data !== undefined && coming.length === 0 && been.length === 0
  return (
    <>
      <Heading title="Now">What your agents will do on their own, and what they just did.</Heading>
      <div className="flex flex-col gap-4">
        {overview.error !== null && (
          <Trouble error={overview.error} onRetry={() => void overview.refetch()} />
        )}
        {past.error !== null && overview.error === null && (
          <Trouble
            error={past.error}
            advice="What has been cannot be shown; what comes is below."
          />
        )}
        {overview.data === undefined && overview.error === null && (
          <p className="text-muted">Loading …</p>
        )}
        {overview.data !== undefined && (
          <>
            {/* Old figures would say that all is well. */}
            {overview.error === null && (
              <Figures
                figures={overview.data.figures}
                turnsPerMinute={turnsPerMinute}
                failed={failed.length}
                heldBack={held.length}
                now={now}
              />
            )}
            <OpenQuestions />
            <WantsALook marks={[...failed, ...held]} now={now} />
            <Panel
              title={`The next ${SPANS[span].label.toLowerCase()}`}
              aside={<SpanChoice span={span} onChoose={setSpan} />}
            >
              {bare ? (
                <Nothing span={span} />
              ) : (
                <Timeline
                  from={now - SPANS[span].pastMs}
                  now={now}
                  to={now + SPANS[span].aheadMs}
                  tickMs={SPANS[span].tickMs}
                  marks={[...been, ...coming]}
                  more={moreOf(overview.data)}
                />
              )}
              {!bare && <MarksTable marks={[...been, ...coming]} now={now} />}
            </Panel>
            {!bare && (
              <div className="grid grid-cols-1 items-start gap-4 xl:grid-cols-2">
                <Coming marks={coming} now={now} />
                <Been marks={been} now={now} />
              </div>
            )}
          </>
        )}
      </div>
    </>
  )
}

function moreOf({ lanes }: Overview): Readonly<Record<Kind, string>> {
  const of = (kind: Kind) => moreWords(lanes[kind])
  return { timer: of('timer'), alarm: of('alarm'), intent: of('intent'), work: of('work') }
}

function isHeld({ past }: Mark): boolean {
  return past?.outcome === 'suppressed' || past?.outcome === 'postponed'
}

function SpanChoice({ span, onChoose }: { span: Span; onChoose: (span: Span) => void }) {
  return (
    <fieldset className="flex rounded-lg border border-line p-0.5 text-sm">
      <legend className="sr-only">How far to look</legend>
      {Object.entries(SPANS).map(([each, { label }]) => (
        <button
          key={each}
          type="button"
          aria-pressed={each === span}
          onClick={() => onChoose(each as Span)}
          className="rounded-md px-2.5 py-1 text-muted hover:text-ink aria-pressed:bg-sunk aria-pressed:font-medium aria-pressed:text-ink"
        >
          {label}
        </button>
      ))}
    </fieldset>
  )
}

function Nothing({ span }: { span: Span }) {
  return (
    <Empty title={`Nothing is planned for the next ${SPANS[span].label.toLowerCase()}`}>
      <p>
        <Link href="/sessions" className="text-accent underline">
          Open a session
        </Link>{' '}
        and type “remind me in 10 seconds to stretch”, or{' '}
        <Link href="/alarms" className="text-accent underline">
          set an alarm
        </Link>{' '}
        in plain words. It appears here at once and you can watch it fire. From a shell:
      </p>
      <pre className="mt-3 overflow-x-auto rounded-lg bg-sunk p-3 text-left font-mono text-xs text-ink max-sm:whitespace-pre-wrap max-sm:wrap-anywhere">
        {CURL}
      </pre>
    </Empty>
  )
}

const CURL = `curl ${new URL('v1/alarms', document.baseURI).href} \\
  -H 'content-type: application/json' \\
  -d '{"schedule":"in 20 seconds","wake_message":"Stretch"}'`
