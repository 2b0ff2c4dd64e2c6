/** Errors of the server, put beside the field they name. Pure. */

export interface Faults {
  /** What is wrong with this field, or undefined. */
  of(field: string): string | undefined
  /** What names no field that is shown. */
  readonly rest: readonly string[]
}

const NAMED = /^(?:body\.|query\.)?([a-z_]+(?:\.[a-z_]+)*)(?:\[\d+\])?(?::| |\.)\s*(.+)$/s

/** "body.label: too long" names `label`; "trigger_schedule.cron required for …" names `trigger_schedule.cron`. */
export function faultsOf(error: Error | null, fields: readonly string[]): Faults {
  const found = new Map<string, string>()
  const rest: string[] = []
  const errors = error !== null && 'errors' in error ? (error.errors as readonly string[]) : []
  for (const text of errors) {
    const [, path = '', words = ''] = NAMED.exec(text) ?? []
    const field = fields.find((name) => name === path || path.endsWith(`.${name}`))
    if (field === undefined) rest.push(text)
    else found.set(field, [found.get(field), words].filter(Boolean).join('; '))
  }
  return { of: (field) => found.get(field), rest }
}
