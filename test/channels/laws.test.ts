/** Every channel keeps the same laws, on both stores, against a fake of its vendor. */
import { discordKit } from './discord.kit.ts'
import { emailKit } from './email.kit.ts'
import { channelLaws } from './laws.ts'
import { slackKit } from './slack.kit.ts'
import { telegramKit } from './telegram.kit.ts'
import { webPushKit } from './web-push.kit.ts'
import { whatsappKit } from './whatsapp.kit.ts'

const CHAT = ['later', 'gone', 'dropped', 'write'] as const

channelLaws('Telegram', telegramKit, CHAT)
channelLaws('Slack, by its Events API', slackKit(false), [...CHAT, 'answer', 'press', 'forged'])
channelLaws('Slack, by Socket Mode', slackKit(true), [...CHAT, 'answer', 'press'])
channelLaws('e-mail', emailKit, [...CHAT, 'answer', 'failLate', 'forged'])
channelLaws('WhatsApp', whatsappKit, [...CHAT, 'closed', 'press', 'failLate', 'forged'])
channelLaws('Discord', discordKit, [...CHAT, 'press'])
channelLaws('Web Push', webPushKit, ['later', 'gone', 'dropped'])
