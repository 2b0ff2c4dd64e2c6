/** Promises of a turn's methods. All are awaited before the commit, so a forgotten `await` loses nothing. */

/** Records whether it was awaited. It is a subclass because `await` does not call `then` of a native promise. */
class TrackedPromise<T> extends Promise<T> {
  handled = false

  static override get [Symbol.species]() {
    return Promise
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise.
  override then<A = T, B = never>(
    onDone?: ((value: T) => A | PromiseLike<A>) | null,
    onFail?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.handled = true
    return super.then(onDone, onFail)
  }
}

export class PendingCalls {
  readonly #calls: { readonly done: Promise<unknown>; readonly shown: TrackedPromise<unknown> }[] =
    []

  track<T>(call: () => Promise<T>): Promise<T> {
    const work = call()
    const shown = new TrackedPromise<T>((resolve, reject) => {
      work.then(resolve, reject)
    })
    // Keeps an early rejection from ending the process as unhandled; `settle` throws it. Not `shown.then`, which would count as awaited.
    Promise.prototype.then.call(shown, undefined, () => undefined)
    this.#calls.push({ done: Promise.allSettled([work]), shown })
    return shown
  }

  /** Waits for all calls; throws the error of one that nobody waited for. */
  async settle(): Promise<void> {
    // What a call starts may call again.
    for (const { done } of this.#calls) await done
    for (const { shown } of this.#calls) if (!shown.handled) await shown
  }
}
