/** `wakeful/remote`: an agent behind an HTTP route of your own, on any runtime with `fetch` and WebCrypto. */
export { type HandleOptions, handleTurn } from './handle.ts'
export {
  type AgentFunction,
  agent,
  type PersonOfTurn,
  type RemoteAgent,
  type RemoteTurn,
  RetryableError,
  TerminalError,
} from './turn.ts'
