/** A key as the server lists it: never the key itself. */
export interface Key {
  readonly id: string
  readonly role: Role
  readonly user_id?: string
  readonly agent_id?: string
  readonly owner_did?: string
  readonly expires_at?: string
  readonly revoked_at?: string
  readonly last_used_at?: string
  readonly created_at: string
}

export const ROLES = ['user', 'agent', 'service', 'worker', 'admin'] as const
export type Role = (typeof ROLES)[number]
