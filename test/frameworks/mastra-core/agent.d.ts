import type { MastraAgent, MastraResult } from '../../../packages/mastra/src/index.ts'

export class Agent implements MastraAgent {
  constructor(settings: object)
  generate(messages: unknown[], options?: object): Promise<MastraResult>
  approveToolCallGenerate(options: object): Promise<MastraResult>
  declineToolCallGenerate(options: object): Promise<MastraResult>
}
