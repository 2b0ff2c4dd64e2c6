/** `wakeful/react`: a session in React, and a transport for the AI SDK's `useChat`. */
export type {
  OpenQuestion,
  SessionMessage,
  SessionOptions,
  SessionState,
} from './session-store.ts'
export {
  type ChatChunk,
  type TransportOptions,
  type UnaskedMessage,
  type WakefulTransport,
  wakefulTransport,
} from './transport.ts'
export { type Session, useSession } from './use-session.ts'
