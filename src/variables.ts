/** Reads variables one by one and collects what is wrong with them. */

/** Collects what is wrong, so that one start tells all of it. An empty variable counts as unset. */
export class Reader {
  readonly wrong: string[] = []
  private readonly env: NodeJS.ProcessEnv

  constructor(env: NodeJS.ProcessEnv) {
    this.env = env
  }

  text(name: string): string | null {
    const value = this.env[name]?.trim()
    return value === undefined || value === '' ? null : value
  }

  checked(
    name: string,
    isRight: (value: string) => boolean,
    takes: string,
    kind: 'plain' | 'secret' = 'plain',
  ): string | null {
    const value = this.text(name)
    if (value === null || isRight(value)) return value
    this.refuse(name, kind === 'secret' ? 'another value (not shown)' : shown(value), takes)
    return null
  }

  whole(name: string, min: number, max: number, preset: number): number {
    const inRange = (value: string) => /^\d{1,15}$/.test(value) && +value >= min && +value <= max
    const value = this.checked(name, inRange, `a whole number from ${min} to ${max}`)
    return value === null ? preset : Number(value)
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | null {
    const value = this.text(name)
    const found = values.find((known) => known === value?.toLowerCase())
    if (value !== null && found === undefined) this.refuse(name, shown(value), values.join(', '))
    return found ?? null
  }

  flag(name: string, preset: boolean): boolean {
    const word = this.oneOf(name, ['true', 'false', '1', '0'])
    return word === null ? preset : word === 'true' || word === '1'
  }

  refuse(name: string, got: string, takes: string): void {
    this.wrong.push(`${name}: got ${got}, takes ${takes}`)
  }
}

export const shown = (value: string) =>
  JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
