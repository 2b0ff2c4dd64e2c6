import { Heading } from '../parts/parts.tsx'

export function IntentsPage() {
  return <Heading title="Intents" />
}
