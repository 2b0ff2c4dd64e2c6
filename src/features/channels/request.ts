/** A vendor's webhook request to a channel, unparsed: signatures cover the raw bytes. */
export interface ChannelRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly query: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
  /** Signatures are good for a while from when they were made. */
  readonly now: Date
}

export interface ChannelAnswer {
  readonly status: number
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown
}

export function header({ headers }: ChannelRequest, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

/** Undefined where it is no JSON: the caller gets 400. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
