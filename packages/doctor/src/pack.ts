import type { Pack } from '../../../src/app/pack.ts'
import { doctor } from './operations.ts'

export const doctorPack = { name: 'doctor', operations: doctor } as const satisfies Pack
