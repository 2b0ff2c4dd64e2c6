/** Discord: direct messages with a bot. Incoming messages arrive over the Gateway, on one connection for all processes. */
import type { Pack } from '../../../../src/app/pack.ts'
import { HTTP_URL, isHttpUrl, isToken, type Reader } from '../../../../src/core/variables.ts'

const API_ROOT = 'https://discord.com/api/v10'

export interface DiscordSettings {
  /** Null unless a bot's token is set. */
  readonly discord: { readonly token: string; readonly apiRoot: string } | null
}

export const discordPack = {
  name: 'discord',
  readSettings(read: Reader): DiscordSettings {
    const token = read.checked('DISCORD_BOT_TOKEN', isToken, "a bot's token", 'secret')
    const apiRoot = read.checked('DISCORD_API_ROOT', isHttpUrl, HTTP_URL) ?? API_ROOT
    return { discord: token === null ? null : { token, apiRoot: apiRoot.replace(/\/+$/, '') } }
  },
  async open({ discord, services, leaseMs }, app) {
    if (discord === null) return {}
    const { DiscordChannel } = await import('./channel.ts')
    const channel = new DiscordChannel(discord)
    if (!services.includes('outbox')) return { pushChannels: [channel] }
    const { gateway } = await import('./gateway.ts')
    const connection = gateway(channel, { token: discord.token, leaseMs }, app)
    return {
      pushChannels: [channel],
      services: [{ service: connection, pollMs: connection.pollMs }],
    }
  },
} as const satisfies Pack<DiscordSettings>
