/** People as suggestions of a text field: those who were seen last. */
import { usePeople } from '../forms/choices.ts'

export function PeopleList({ id }: { id: string }) {
  const people = usePeople()
  return (
    <datalist id={id}>
      {people.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  )
}
