/** The packs of this server. A new one is a folder in src/packs and a line in this list. */

import { discordPack } from '../../packages/channels/discord/src/pack.ts'
import { emailPack } from '../../packages/channels/email/src/pack.ts'
import { slackPack } from '../../packages/channels/slack/src/pack.ts'
import { telegramPack } from '../../packages/channels/telegram/src/pack.ts'
import { webPushPack } from '../../packages/channels/web-push/src/pack.ts'
import { whatsappPack } from '../../packages/channels/whatsapp/src/pack.ts'
import { executorsPack } from '../../packages/executors/src/pack.ts'
import { forecastPack } from '../../packages/forecast/src/pack.ts'
import { langgraphCronsPack } from '../../packages/langgraph/src/crons/pack.ts'
import { mcpEventsPack } from '../../packages/mcp-events/src/pack.ts'
import { backingPack } from '../../packages/promise-check/src/pack.ts'
import { sourcesPack } from '../../packages/sources/src/pack.ts'
import type { Executor } from '../agents/executor.ts'
import type { Operation } from '../api/contract.ts'
import { type Config, readVariables } from '../config.ts'
import type { Reader } from '../core/variables.ts'
import type { OpenPack, Pack, PackApp, Receive } from './pack.ts'

export const PACKS = [
  executorsPack,
  langgraphCronsPack,
  mcpEventsPack,
  forecastPack,
  backingPack,
  sourcesPack,
  telegramPack,
  slackPack,
  emailPack,
  whatsappPack,
  discordPack,
  webPushPack,
] as const

type SettingsOf<P> = P extends { readSettings(read: Reader): infer S } ? S : unknown
type Merged<P> = (P extends unknown ? (each: SettingsOf<P>) => void : never) extends (
  all: infer S,
) => void
  ? S
  : never

/** The settings of the server, those of its packs included. */
export type AppConfig = Config & Merged<(typeof PACKS)[number]>

/** As its interface says it, for those who do not care which pack it is. */
const packs: readonly Pack[] = PACKS

export function readConfig(env: NodeJS.ProcessEnv): AppConfig {
  return readVariables(env, (read) =>
    Object.assign({}, ...packs.map((pack) => pack.readSettings?.(read))),
  )
}

export const packOperations: readonly Operation[] = packs.flatMap((pack) => pack.operations ?? [])

export type OpenPacks = Required<Omit<OpenPack, 'own' | 'receive'>> & {
  /** By the name of the pack. */
  readonly receivers: ReadonlyMap<string, Receive>
  /** By the name of the pack. */
  readonly own: Readonly<Record<string, unknown>>
}

export async function openPacks(config: AppConfig, app: PackApp): Promise<OpenPacks> {
  const opened: [string, OpenPack][] = await Promise.all(
    packs.map(async (pack) => [pack.name, (await pack.open?.(config, app)) ?? {}]),
  )
  const all = opened.map(([, pack]) => pack)
  return {
    executors: new Map<string, Executor>(all.flatMap((pack) => [...(pack.executors ?? [])])),
    around: (agent) => all.reduce((inner, pack) => pack.around?.(inner) ?? inner, agent),
    sources: all.flatMap((pack) => pack.sources ?? []),
    pushChannels: all.flatMap((pack) => pack.pushChannels ?? []),
    services: all.flatMap((pack) => pack.services ?? []),
    receivers: new Map(
      opened.flatMap(([name, { receive }]) => (receive === undefined ? [] : [[name, receive]])),
    ),
    own: Object.fromEntries(opened.map(([name, { own }]) => [name, own])),
    async close() {
      await Promise.all(all.map((pack) => pack.close?.()))
    },
  }
}
