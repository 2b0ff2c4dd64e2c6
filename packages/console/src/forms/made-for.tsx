/** By whom and for whom: the agent that is woken, and the person it acts for. */
import { seesAll, useMe } from '../frame/me.ts'
import { useCapabilities } from './choices.ts'
import { SelectField, TextField } from './fields.tsx'

interface AgentProps {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly fault?: string | undefined
  readonly hint?: string
  /** What an empty choice means. */
  readonly none: string
}

export function AgentField({ none, ...rest }: AgentProps) {
  const { agents } = useCapabilities()
  const choices = [['', none] as const, ...agents.map((name) => [name, name] as const)]
  return <SelectField {...rest} choices={choices} />
}

export function PersonField(props: {
  id: string
  value: string
  onChange: (value: string) => void
  fault?: string | undefined
}) {
  const me = useMe()
  // A caller bound to one person acts for that person only.
  if (!seesAll(me)) return null
  return (
    <TextField
      {...props}
      label="For whom"
      maxLength={64}
      hint="A user id, the first part of their session keys."
    />
  )
}
