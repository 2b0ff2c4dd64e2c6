/** Slack: direct messages with an app's bot. Incoming messages use the Events API, or Socket Mode if the server has no public address. */
import type { Pack } from '../../../../src/app/pack.ts'
import { HTTP_URL, isHttpUrl, isToken, type Reader } from '../../../../src/core/variables.ts'

const API_ROOT = 'https://slack.com/api'

export interface SlackSettings {
  /** Null unless a bot's token is set. */
  readonly slack: {
    readonly token: string
    /** Null: posted requests are refused. */
    readonly signingSecret: string | null
    /** Null: no Socket Mode. */
    readonly appToken: string | null
    readonly apiRoot: string
  } | null
}

export const slackPack = {
  name: 'slack',
  readSettings(read: Reader): SlackSettings {
    const begins = (start: string) => (value: string) => value.startsWith(start) && isToken(value)
    const token = read.checked('SLACK_BOT_TOKEN', begins('xoxb-'), "a bot's token", 'secret')
    const form = 'the signing secret of an app'
    const signingSecret = read.checked('SLACK_SIGNING_SECRET', isToken, form, 'secret')
    const appToken = read.checked('SLACK_APP_TOKEN', begins('xapp-'), "an app's token", 'secret')
    const apiRoot = read.checked('SLACK_API_ROOT', isHttpUrl, HTTP_URL) ?? API_ROOT
    const slack = { signingSecret, appToken, apiRoot: apiRoot.replace(/\/+$/, '') }
    return { slack: token === null ? null : { token, ...slack } }
  },
  async open({ slack, services, leaseMs }, app) {
    if (slack === null) return {}
    const { SlackChannel, socketMode } = await import('./channel.ts')
    const channel = new SlackChannel(slack)
    if (slack.appToken === null || !services.includes('outbox')) return { pushChannels: [channel] }
    const connection = socketMode(channel, { appToken: slack.appToken, leaseMs }, app)
    return {
      pushChannels: [channel],
      services: [{ service: connection, pollMs: connection.pollMs }],
    }
  },
} as const satisfies Pack<SlackSettings>
