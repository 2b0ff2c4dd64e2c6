import type { MastraAgent, MastraResult, MastraStream } from '../../../packages/mastra/src/index.ts'

export class Agent implements MastraAgent {
  constructor(settings: object)
  generate(messages: unknown[], options?: object): Promise<MastraResult>
  stream(messages: unknown[], options?: object): Promise<MastraStream>
  approveToolCallGenerate(options: object): Promise<MastraResult>
  declineToolCallGenerate(options: object): Promise<MastraResult>
}
