/** A link as the server lists it. */
export interface PersonLink {
  readonly id: string
  readonly user_id: string
  readonly session_key: string
  readonly channel: string
  readonly address: string
  readonly person: boolean
  readonly rank: number
  readonly closed_since?: string
  readonly ended_at?: string
  readonly last?: { readonly outcome: string; readonly at: string; readonly error?: string }
  readonly created_at: string
}

/** What is answered where no address was given. */
export interface LinkCode {
  readonly code: string
  readonly url?: string
  readonly words: string
  readonly expires_at: string
}

export const WEB_PUSH = 'web-push'

/** A browser's subscription is long and says nothing but where it is pushed to. */
export function shownAddress({ channel, address }: PersonLink): string {
  if (channel !== WEB_PUSH) return address
  try {
    const { endpoint } = JSON.parse(address) as { endpoint: string }
    return `a browser, by ${new URL(endpoint).host}`
  } catch {
    return 'a browser'
  }
}
