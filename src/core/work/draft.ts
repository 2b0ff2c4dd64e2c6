/** Work that a turn asks for, on its way to a row. */
export interface WorkDraft {
  readonly id: string
  readonly userId: string
  readonly task: string
  readonly agentType: string
  readonly frequency: string
  readonly timezone: string
  /** Recurring work also runs at once; one-time work always does. */
  readonly runFirst: boolean
  readonly projectId: string | null
  /** JSON text, kept verbatim. */
  readonly parameters: string
}

/** What a turn may ask of work, beside the output of its own run. */
export type WorkWish = { readonly create_work: WorkDraft } | { readonly delete_work: string }
