/** What the audit log says of one change: who, what, whose. Never the words or secrets that a request carried. */

export interface AuditHead {
  readonly keyId: string | null
  readonly role: string
  readonly userId: string | null
  readonly actedFor: boolean
  readonly operation: string
  readonly requestId: string
  readonly summary: string
}

export interface AuditEntry extends AuditHead {
  readonly objectId: string | null
  readonly owner: string | null
}

const SUMMARY_MAX = 500

/** The names of what was given, not the values: those may be private. Names come from schemas, so they are ours. */
export function fieldNames(part: unknown): string {
  if (typeof part !== 'object' || part === null) return ''
  let names = ''
  for (const [name, value] of Object.entries(part))
    if (value !== undefined && value !== '') names += names === '' ? name : `, ${name}`
  return names.slice(0, SUMMARY_MAX)
}
