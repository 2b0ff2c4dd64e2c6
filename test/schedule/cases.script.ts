/** Run by `cases.test.ts` once per process time zone: prints what failed, as JSON. */

import { cronFailures, frequencyFailures } from './cases.ts'

const cron = cronFailures()
const frequency = frequencyFailures()
process.stdout.write(
  JSON.stringify({
    offset: new Date(1_767_225_600_000).getTimezoneOffset(),
    counts: [cron.count, frequency.count],
    failures: [...cron.failures, ...frequency.failures],
  }),
)
