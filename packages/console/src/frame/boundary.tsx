/** Keeps what goes wrong on one page to that page: the way to the others stays. */
import { Component, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import { Problem } from '../api/http.ts'
import { Trouble } from '../parts/trouble.tsx'

interface Props {
  readonly address: string
  readonly children: ReactNode
}

interface State {
  readonly address: string
  readonly error: Error | null
}

class Boundary extends Component<Props, State> {
  override state: State = { address: this.props.address, error: null }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  /** Another address is another page: what was wrong with this one is forgotten. */
  static getDerivedStateFromProps({ address }: Props, state: State): State | null {
    return address === state.address ? null : { address, error: null }
  }

  override render() {
    const { error } = this.state
    if (error === null) return this.props.children
    return (
      <Trouble
        error={new Problem(0, 'This page could not be shown', [error.message])}
        advice="The server may be of another version than this page. Try again, or go to another page."
        onRetry={() => location.reload()}
      />
    )
  }
}

export function PageBoundary({ children }: { children: ReactNode }) {
  const [address] = useLocation()
  return <Boundary address={address}>{children}</Boundary>
}
