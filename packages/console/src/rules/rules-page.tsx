/** The limits in force on what agents do on their own, and what those limits held back lately. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { serverNow } from '../api/http.ts'
import { type LedgerEntry, readLedger } from '../api/ledger.ts'
import { type Rules, readRules } from '../api/overview.ts'
import { Empty, Heading, Panel } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { Entry } from '../why/entry.tsx'

const LOOK_MS = 5_000
const WEEK_MS = 7 * 24 * 3_600_000
const SHOWN = 20

export function RulesPage() {
  const rules = useQuery({
    queryKey: ['rules'],
    queryFn: ({ signal }) => readRules(signal),
  })
  const held = useQuery({
    queryKey: ['ledger', 'held'],
    queryFn: ({ signal }) => readHeld(signal),
    refetchInterval: LOOK_MS,
  })
  return (
    <>
      <Heading title="Rules">
        An agent that may speak first must not nag. These limits are for follow-ups: what it says on
        its own initiative. What was promised (reminders, standing intents, results of work) always
        comes. They are checked in the same transaction that would send the message, so they hold
        whatever else happens.
      </Heading>
      <div className="flex flex-col gap-4">
        {rules.error !== null && (
          <Trouble error={rules.error} onRetry={() => void rules.refetch()} />
        )}
        {rules.data !== undefined && <InForce rules={rules.data} />}
        <Panel
          title="Held back in the last 7 days"
          aside={
            <Link
              href="/why/suppressed"
              className="text-sm text-accent underline underline-offset-2"
            >
              All of them
            </Link>
          }
        >
          {held.error !== null && (
            <Trouble error={held.error} onRetry={() => void held.refetch()} />
          )}
          {held.data !== undefined && <Held entries={held.data} />}
        </Panel>
      </div>
    </>
  )
}

/** A follow-up that was held back for good, and an intent that its worker's gate put off. */
async function readHeld(signal: AbortSignal): Promise<LedgerEntry[]> {
  const from = new Date(serverNow() - WEEK_MS).toISOString()
  const [suppressed, postponed] = await Promise.all([
    readLedger({ outcome: 'suppressed', from, limit: SHOWN }, signal),
    readLedger({ outcome: 'postponed', from, limit: SHOWN }, signal),
  ])
  return [...suppressed.data, ...postponed.data]
    .sort((a, b) => (a.at < b.at ? 1 : -1))
    .slice(0, SHOWN)
}

function InForce({ rules }: { rules: Rules }) {
  return (
    <div className="grid grid-cols-1 gap-3 sm:grid-cols-2 xl:grid-cols-4">
      <Rule
        name="May agents act on their own?"
        value={rules.autonomy_enabled ? 'yes' : 'no, they are switched off'}
        variable="AUTONOMY_ENABLED"
      >
        {rules.autonomy_enabled
          ? 'Timers, alarms, intents and work fire when they are due.'
          : 'Nothing fires. Conversations still work.'}
      </Rule>
      <Rule
        name="Unanswered follow-ups in a row"
        value={`at most ${rules.max_consecutive}`}
        variable="AUTONOMY_MAX_CONSECUTIVE"
      >
        Then the agent follows up no more in that session until the person writes.
      </Rule>
      <Rule
        name="Between two of them"
        value={`at least ${rules.cooldown_ms / 1000} s`}
        variable="AUTONOMY_COOLDOWN_MS"
      >
        One that comes sooner, also after a reminder, is held back, not sent later.
      </Rule>
      <Rule name="Enabled intents of one person" value={`at most ${rules.intents_max}`}>
        One more is refused when it is made.
      </Rule>
    </div>
  )
}

function Rule(props: { name: string; value: ReactNode; variable?: string; children: string }) {
  return (
    <section aria-label={props.name} className="rounded-xl border border-line bg-panel px-4 py-3">
      <h2 className="text-sm text-muted">{props.name}</h2>
      <p className="mt-0.5 text-xl font-semibold tracking-tight">{props.value}</p>
      <p className="mt-1 text-sm">{props.children}</p>
      {props.variable !== undefined && (
        <p className="mt-1 text-xs text-muted">
          Set by <code className="font-mono wrap-anywhere">{props.variable}</code>
        </p>
      )}
    </section>
  )
}

function Held({ entries }: { entries: readonly LedgerEntry[] }) {
  if (entries.length === 0)
    return (
      <Empty title="Nothing was held back">
        To see a limit at work,{' '}
        <Link href="/sessions" className="text-accent underline">
          write to the demo agent
        </Link>{' '}
        and then leave it alone: after its third unanswered follow-up it is stopped here.
      </Empty>
    )
  return (
    <ul className="-mx-4 -mb-4 divide-y divide-line border-t border-line">
      {entries.map((entry) => (
        <Entry key={entry.id} entry={entry} />
      ))}
    </ul>
  )
}
