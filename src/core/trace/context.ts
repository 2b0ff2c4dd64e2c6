/**
 * W3C trace context: which traces may be taken up, and how they travel on. In a row's `traceparent` column a
 * trace is carried as text: the traceparent, and behind a space the tracestate where there is one, so that
 * handing on what other vendors wrote costs no second column.
 */

export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
  /** Other vendors' entries, handed on as they came; empty for none. */
  readonly state: string
}

const HEX = '[0-9a-f]'
const TRACEPARENT = new RegExp(`^(${HEX}{2})-(${HEX}{32})-(${HEX}{16})-(${HEX}{2})(-.*)?$`)
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)
const SAMPLED = 1
/** A later version may be longer; nobody needs a header without end. */
const TRACEPARENT_MAX = 256

const KEY = '[a-z][a-z0-9_\\-*/]{0,255}|[a-z0-9][a-z0-9_\\-*/]{0,240}@[a-z][a-z0-9_\\-*/]{0,13}'
const VALUE = '[\\x20-\\x2b\\x2d-\\x3c\\x3e-\\x7e]{0,255}[\\x21-\\x2b\\x2d-\\x3c\\x3e-\\x7e]'
const MEMBER = new RegExp(`^(${KEY})=(${VALUE})$`)
const MEMBERS_MAX = 32
const STATE_MAX = 512
/** Entries longer than this are the first to go when there is too much. */
const MEMBER_LONG = 128

/** Null for what breaks the rules: then a new trace begins, and its tracestate is not even looked at. */
export function readTraceContext(
  traceparent: string | undefined | null,
  tracestate?: string | undefined | null,
): TraceContext | null {
  if (traceparent === undefined || traceparent === null) return null
  if (traceparent.length > TRACEPARENT_MAX) return null
  const [, version = '', traceId = '', spanId = '', flags = '', rest] =
    TRACEPARENT.exec(traceparent) ?? []
  if (version === '' || version === 'ff') return null
  // What this version knows is complete; a later one may add fields, which we do not understand and leave out.
  if (version === '00' && rest !== undefined) return null
  if (traceId === NO_TRACE || spanId === NO_SPAN) return null
  const sampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED
  return { traceId, spanId, sampled, state: readTracestate(tracestate ?? '') }
}

/** All or nothing: a list with one wrong entry is not handed on. Too long a list loses entries, not its validity. */
export function readTracestate(header: string): string {
  const members = header
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '')
  if (members.length > MEMBERS_MAX) return ''
  const keys = new Set<string>()
  for (const member of members) {
    const key = MEMBER.exec(member)?.[1]
    if (key === undefined || keys.has(key)) return ''
    keys.add(key)
  }
  return shortened(members).join(',')
}

function shortened(members: readonly string[]): readonly string[] {
  const fits = (list: readonly string[]) => list.join(',').length <= STATE_MAX
  let kept = members
  if (!fits(kept)) kept = kept.filter((member) => member.length <= MEMBER_LONG)
  while (!fits(kept)) kept = kept.slice(0, -1)
  return kept
}

function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
}

/** As it is carried in a row. */
export function carry(context: TraceContext): string {
  const traceparent = traceparentOf(context)
  return context.state === '' ? traceparent : `${traceparent} ${context.state}`
}

/** What a row carries; null for none, and for what somebody else wrote there. */
export function carried(text: string | null | undefined): TraceContext | null {
  if (text === null || text === undefined) return null
  const space = text.indexOf(' ')
  return space < 0
    ? readTraceContext(text)
    : readTraceContext(text.slice(0, space), text.slice(space + 1))
}

export function traceIdOf(text: string | null | undefined): string | null {
  return carried(text)?.traceId ?? null
}

/** The headers of an outgoing call. */
export function traceHeaders(text: string | null | undefined): Record<string, string> {
  const context = carried(text)
  if (context === null) return {}
  const traceparent = traceparentOf(context)
  return context.state === '' ? { traceparent } : { traceparent, tracestate: context.state }
}
