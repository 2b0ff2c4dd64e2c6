// Loaded before a server (NODE_OPTIONS=--import): its machine's clock is SKEW_MS off, from the start or, with SKEW_ON_SIGNAL,
// from SIGUSR2 on.
const { SKEW_MS = '0', SKEW_ON_SIGNAL } = process.env
let skew = SKEW_ON_SIGNAL === undefined ? Number(SKEW_MS) : 0
process.on('SIGUSR2', () => {
  skew = Number(SKEW_MS)
})
const Real = Date
globalThis.Date = class extends Real {
  constructor(...given) {
    if (given.length === 0) super(Real.now() + skew)
    else super(...given)
  }
  static now() {
    return Real.now() + skew
  }
}
