/** The conversation of the tour: a person of this machine talks to the demo agent. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { LOCAL_PERSON, useCapabilities } from '../forms/choices.ts'
import { navigate } from '../frame/address.ts'
import { randomId } from '../parts/random.ts'
import { offerDraft } from '../session/draft.ts'
import { beginEmpty } from '../session/kept.ts'
import { keyIn, sessionAddress } from '../session/key.ts'
import { reachStep } from './reached.ts'
import { STEPS } from './steps.ts'

const SESSION_PLACE = 'wakeful.tour.session'
/** The agent of a server that was given none. */
const DEMO = 'companion'

/** The conversation that the tour has opened. */
export function reachedSession(): string | null {
  return keyIn(localStorage.getItem(SESSION_PLACE) ?? '')
}

/** Opens the tour's own conversation, in which one acts as its person. */
export function openConversation(client: QueryClient, sentence: string): void {
  offerDraft(sentence)
  const known = reachedSession()
  const key = known ?? `${LOCAL_PERSON}:${DEMO}:${randomId(6)}`
  localStorage.setItem(SESSION_PLACE, key)
  if (known === null) beginEmpty(client, key)
  navigate(`${sessionAddress(key)}?act=1`)
}

/** Begins the tour at its first step, with its sentence ready to be sent. Null where the demo agent is not here. */
export function useStartTour(): (() => void) | null {
  const client = useQueryClient()
  const { agents } = useCapabilities()
  if (!agents.includes(DEMO)) return null
  return () => {
    reachStep(0)
    openConversation(client, STEPS[0]?.sentence ?? '')
  }
}
