/** Links between people and chat channels, what they write there, and messages pushed to them. */
import type { Pack } from '../../../../src/app/pack.ts'
import { links } from './operations.ts'

export const channelsPack = { name: 'links', operations: links } as const satisfies Pack
