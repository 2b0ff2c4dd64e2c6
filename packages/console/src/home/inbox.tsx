/** Failures, open questions and undelivered messages: each stays until somebody has dealt with it. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { mayChange, useMe } from '../frame/me.ts'
import { AgentLink, PersonLink } from '../kit/links.tsx'
import { Icon } from '../parts/icon.tsx'
import type { IconName } from '../parts/icon-paths.ts'
import { Kind } from '../parts/outcome.tsx'
import { Button } from '../parts/parts.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'
import { Options, type Question } from '../questions/options.tsx'
import { sessionAddress } from '../session/key.ts'
import { type Failure, type Undelivered, useFailureActs, useInbox } from './waiting.ts'

export function Inbox() {
  const { data, error, refetch } = useInbox()
  if (data === undefined)
    return error === null ? (
      <Skeleton rows={3} />
    ) : (
      <Trouble spaced error={error} onRetry={() => void refetch()} />
    )
  const { failures, questions, undelivered, counts } = data
  const none = failures.length + questions.length + undelivered.length === 0
  return (
    <section aria-label="Inbox" className="mb-6">
      {none && error === null && (
        <p className="flex items-center gap-2 text-[13px] text-muted">
          <Icon name="check" className="text-good" /> Nothing needs you: no failures, no open
          questions, no undelivered messages.
        </p>
      )}
      <div className="flex flex-col gap-4">
        <Group title="Failures" icon="warning" shown={failures.length} of={counts.failures}>
          {failures.map((each) => (
            <FailureRow key={each.id} failure={each} />
          ))}
        </Group>
        <Group
          title="Open questions"
          icon="question"
          shown={questions.length}
          of={counts.questions}
        >
          {questions.map((each) => (
            <QuestionRow key={each.id} question={each} />
          ))}
        </Group>
        <Group title="Undelivered" icon="sent" shown={undelivered.length} of={counts.undelivered}>
          {undelivered.map((each) => (
            <UndeliveredRow key={each.effect_id} message={each} />
          ))}
        </Group>
      </div>
    </section>
  )
}

interface GroupProps {
  readonly title: string
  readonly icon: IconName
  readonly shown: number
  readonly of: number
  readonly children: ReactNode
}

function Group({ title, icon, shown, of, children }: GroupProps) {
  if (shown === 0) return null
  return (
    <section aria-label={title}>
      <h2 className="mb-1 flex items-center gap-2 text-[13px] font-semibold">
        <Icon name={icon} className={icon === 'warning' ? 'text-bad' : 'text-muted'} />
        {title} <span className="font-normal text-muted">{of.toLocaleString()}</span>
      </h2>
      <ul
        aria-label={title}
        className="divide-y divide-line rounded-lg border border-line bg-panel text-[13px]"
      >
        {children}
      </ul>
      {of > shown && (
        <p className="mt-1 text-xs text-muted">
          The newest {shown} of {of.toLocaleString()}.
        </p>
      )}
    </section>
  )
}

const ROW = 'flex flex-wrap items-center gap-x-3 gap-y-2 px-3 py-2'

function FailureRow({ failure }: { failure: Failure }) {
  const { id, trigger, user_id, session_key, reason, words, at, retryable = true } = failure
  const acts = useFailureActs(id)
  const mayAct = mayChange(useMe())
  return (
    <li className={ROW}>
      <Kind kind={trigger.kind} />
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-baseline gap-x-2">
          <Link
            href={`/activity/${encodeURIComponent(id)}`}
            className="font-medium wrap-anywhere hover:underline"
          >
            {trigger.name}
          </Link>
          <span className="text-muted">
            <PersonLink id={user_id} />
            {session_key !== undefined && (
              <>
                {' · '}
                <AgentLink id={session_key.split(':')[1]} />
              </>
            )}
            {' · '}
            <When at={at} as="both" />
          </span>
        </p>
        <p className="text-muted wrap-anywhere">{reason?.error ?? words}</p>
        {acts.error !== null && <Trouble error={acts.error} />}
      </div>
      {mayAct && (
        <span className="flex gap-2">
          {retryable && (
            <Button
              disabled={acts.busy || acts.isRetried}
              aria-label={`Retry ${trigger.name}`}
              onClick={acts.retry}
            >
              <Icon name="retry" /> {acts.isRetried ? 'Running' : 'Retry'}
            </Button>
          )}
          <Button
            disabled={acts.busy}
            aria-label={`Dismiss ${trigger.name}`}
            onClick={acts.dismiss}
          >
            Dismiss
          </Button>
        </span>
      )}
    </li>
  )
}

function QuestionRow({ question }: { question: Question }) {
  const { session_key, text, user_id, default_answer, until_at } = question
  return (
    <li className={ROW}>
      <Kind kind="question" />
      <div className="min-w-0 flex-1 basis-64">
        <Link
          href={sessionAddress(session_key)}
          className="font-medium wrap-anywhere hover:underline"
        >
          {text}
        </Link>
        <p className="text-muted">
          <PersonLink id={user_id} /> · <AgentLink id={session_key.split(':')[1]} />
          {until_at !== null && (
            <>
              {' '}
              · “{default_answer}” <When at={until_at} as="relative" /> without an answer
            </>
          )}
        </p>
      </div>
      <Options question={question} person={user_id} sessionKey={session_key} />
    </li>
  )
}

function UndeliveredRow({ message }: { message: Undelivered }) {
  const { session_key, created_at, preview, reason } = message
  const [user = '', agent] = session_key.split(':')
  return (
    <li className={ROW}>
      <Icon name="sent" className="text-muted" />
      <div className="min-w-0 flex-1 basis-64">
        <p className="truncate">{preview}</p>
        <p className="text-muted">
          <PersonLink id={user} /> · <AgentLink id={agent} /> · {reason} ·{' '}
          <When at={created_at} as="both" />
        </p>
      </div>
      <Link
        href={sessionAddress(session_key)}
        className="inline-flex min-h-8 items-center rounded-md border border-line px-3 font-medium hover:bg-sunk"
      >
        Open
      </Link>
    </li>
  )
}
