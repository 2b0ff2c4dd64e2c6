/** Every fault that Wakeful is meant to survive, in the order of its list: what, how, what must hold, and who tries it. */
import type { HeldRow, Row } from './row.ts'
import { jumpAhead, jumpBack, skewed } from './rows/clock.ts'
import {
  herd,
  manyEngines,
  messageAgainstTimer,
  migrationKilled,
  sameRequest,
} from './rows/crowd.ts'
import * as database from './rows/database.ts'
import { diskFull, diskFullEmbedded, tornLog } from './rows/disk.ts'
import * as network from './rows/network.ts'
import * as process from './rows/process.ts'
import { byBudget, byDepth, bySwitch } from './rows/runaway.ts'
import { ackLost, badReceivers, reconnectStorm } from './rows/sockets.ts'
import { rollingUpgrade } from './rows/upgrade.ts'
import { embeddedWear, longReader } from './rows/wear.ts'

export interface Amounts {
  readonly kills: number
  readonly restarts: number
  /** Everything else at its full size. */
  readonly full: boolean
}

type Entry = Row | HeldRow

const row = (
  id: number,
  words: readonly [fault: string, inject: string, holds: string],
  run: Row['run'],
  short?: 'short',
): Row => ({
  ...{ id, fault: words[0], inject: words[1], holds: words[2], run },
  ...(short === undefined ? {} : { short: true as const }),
})

const held = (
  id: number,
  words: readonly [string, string, string],
  ...heldBy: HeldRow['heldBy']
): HeldRow => ({
  ...{ id, fault: words[0], inject: words[1], holds: words[2], heldBy },
})

export function table({ kills, restarts, full }: Amounts): Entry[] {
  return [
    ...processes(kills),
    ...databases(restarts),
    ...stores(full),
    ...times(),
    ...embedded(),
    ...crowds(full),
    ...outside(full),
  ]
}

const processes = (kills: number): Entry[] => [
  row(
    1,
    ['worker killed before its call', 'kill -9 at "claimed"', 'called once, as attempt 2'],
    process.killedBeforeWake,
    'short',
  ),
  row(
    2,
    [
      'worker killed after its call, before the commit',
      'kill -9 at "delivered"',
      'one more call, with the same id',
    ],
    process.killedAfterWake,
  ),
  row(
    3,
    [
      'worker killed after the commit, before the answer',
      'kill -9 at "committed"; an answer cut',
      'asked again, the same result',
    ],
    process.killedAfterCommit,
  ),
  row(
    4,
    [
      'workers killed at random',
      `${kills} times kill -9 under load`,
      'nothing lost; what waits drains',
    ],
    (ground) => process.killLoop(ground, kills),
  ),
  held(
    5,
    [
      'worker frozen past its lease',
      'SIGSTOP, SIGCONT',
      'another takes over; the first writes nothing',
    ],
    [
      'test/process/many.test.ts',
      'invariant 5: a process frozen beyond its lease writes nothing when it wakes',
    ],
    ['test/alarms/processes.test.ts', 'one frozen past its lease'],
  ),
  row(
    6,
    [
      'event loop blocked',
      'a busy loop longer than the lease',
      'as when frozen; the metrics say so',
    ],
    process.blockedLoop,
    'short',
  ),
]

const databases = (restarts: number): Entry[] => [
  row(
    7,
    ['a backend of PostgreSQL killed', 'kill -9', 'it recovers, and so do we'],
    database.backendKilled,
    'short',
  ),
  row(
    8,
    [
      'PostgreSQL stopped and started',
      `${restarts} times "immediate" under load`,
      'nothing lost; goes on by itself',
    ],
    (ground) => database.restarts(ground, restarts),
  ),
  row(
    9,
    ['PostgreSQL away at the start', 'server first, database later', '503, no crash, then work'],
    database.awayAtBoot,
  ),
  row(
    10,
    [
      'PostgreSQL away during recovery',
      'stopped while a dead process’s turns are taken up',
      'none stays behind',
    ],
    database.awayDuringRecovery,
    'short',
  ),
  row(
    11,
    ['the answer to a commit lost', 'relay cuts at COMMIT', 'asked again, no second row'],
    network.commitAnswerCut,
    'short',
  ),
  row(
    12,
    ['half-open connections', 'relay swallows all bytes', 'noticed within 15 s'],
    network.halfOpen,
  ),
  row(
    13,
    ['half-open LISTEN', 'relay swallows that one alone', 'polls; listens again within 15 s'],
    network.halfOpenListen,
  ),
  held(
    14,
    ['LISTEN terminated', 'pg_terminate_backend', 'listens again'],
    ['test/engine/notifier.test.ts', 'after its backend was terminated it listens again by itself'],
  ),
  row(
    15,
    ['slow PostgreSQL', 'relay: 500 ms more, then 1 KB/s', 'each request is answered'],
    network.slowDatabase,
  ),
  row(
    16,
    [
      'all connections for requests busy',
      'a lock that thirty wait for',
      'timers fire; others get an answer',
    ],
    database.poolExhausted,
  ),
]

const stores = (full: boolean): Entry[] => [
  row(17, ['disk full', 'PostgreSQL on a small tmpfs', '503; recovers when freed'], diskFull),
  row(
    18,
    [
      'disk full, embedded',
      'directory on a small tmpfs',
      'a clear error; what was acknowledged is there',
    ],
    diskFullEmbedded,
  ),
  row(
    19,
    [
      'read-only, as in a failover',
      'default_transaction_read_only',
      '503, reads work, no hot loop',
    ],
    database.readOnly,
    'short',
  ),
  held(
    20,
    ['deadlock', 'opposite order; cancel against claim', 'retried; both end'],
    ['test/store/postgres.test.ts', 'a real deadlock is resolved'],
    ['test/alarms/cancel.test.ts', 'a storm of cancels over a burst'],
  ),
  held(
    21,
    ['serialization failure', '40001', 'retried, bounded'],
    ['test/store/pool.test.ts', 'serialization failures and deadlocks are tried again, bounded'],
  ),
  row(
    22,
    ['a reader that stays', 'an open snapshot while timers fire', 'at most three times as slow'],
    (ground) => longReader(ground, full ? 20 : 4),
  ),
  row(
    23,
    [
      'wear of the embedded store',
      `${full ? 1000 : 100} thousand claims`,
      'its own vacuum bounds the size',
    ],
    (ground) => embeddedWear(ground, full ? 1000 : 100),
  ),
]

const times = (): Entry[] => [
  row(
    24,
    [
      'the machine’s clock jumps an hour ahead',
      'clock of the process',
      'nothing early, nothing twice',
    ],
    jumpAhead,
  ),
  row(
    25,
    [
      'the machine’s clock jumps an hour back',
      'clock of the process',
      'nothing again, nothing late',
    ],
    jumpBack,
  ),
  row(
    26,
    [
      'processes that disagree by ten minutes',
      'clocks of two processes',
      'each slot once, none early',
    ],
    skewed,
    'short',
  ),
  held(
    27,
    [
      'suspended for hours',
      'the clock jumps while nothing runs',
      'one late fire, and the count of what was missed',
    ],
    [
      'test/alarms/fires.test.ts',
      'rule 6: after downtime a cron fires once for the first missed slot',
    ],
    ['test/triggers/work.test.ts', 'rule 6: after downtime one run with the first missed slot'],
  ),
  held(
    28,
    [
      'clock changes',
      'published cases, and zones through 2024 to 2027',
      'equal to the cases and to a slow oracle',
    ],
    ['test/schedule/cases.test.ts', 'cron.json holds'],
    [
      'test/schedule/properties.test.ts',
      'equals the slow oracle across the clock changes of 2024 to 2027',
    ],
  ),
  held(
    29,
    [
      'rules of time zones change',
      'another version of them at the next start',
      'what is stored is reckoned again',
    ],
    [
      'test/triggers/zones.test.ts',
      'what was stored under others is reckoned again at the next start, and fires once, at its time',
    ],
  ),
  held(
    30,
    ['alarms far away', '30 days and ten years ahead', 'not early'],
    ['test/alarms/fires.test.ts', 'rule 7: no early fire, ten years out too'],
  ),
]

const embedded = (): Entry[] => [
  held(
    31,
    ['embedded directory opened twice', 'a second process', 'refused; nothing lost'],
    ['test/store/pglite.test.ts', 'invariant 9: a second opener in another process is refused'],
  ),
  held(
    32,
    ['first start interrupted', 'killed while it unpacks', 'the next one heals it'],
    [
      'test/store/pglite.test.ts',
      'a first start that was killed half-way leaves nothing that looks finished',
    ],
  ),
  row(
    33,
    ['torn log, embedded', 'its newest file truncated', 'refuses or recovers, never begins anew'],
    tornLog,
  ),
]

const crowds = (full: boolean): Entry[] => [
  row(34, ['many engines', '8 processes, 20,000 due', 'each slot once'], manyEngines),
  held(
    35,
    ['processes of the same name', 'three on one machine', 'told apart by random tokens'],
    [
      'test/process/many.test.ts',
      'invariants 1, 2 and 4: three processes keep the order of each session',
    ],
  ),
  held(
    36,
    ['a stale leader', 'frozen past its lease', 'nobody leads: every claim is fenced'],
    ['test/alarms/processes.test.ts', 'one frozen past its lease'],
    ['test/store/due.test.ts', 'invariant 5: a worker whose lease ran out'],
  ),
  row(
    37,
    [
      'rolling upgrade',
      'a version with one migration more joins two old ones under load',
      'nothing lost or doubled; an old one that comes later is refused',
    ],
    rollingUpgrade,
  ),
  row(
    38,
    ['migration killed', 'kill -9 midway, three times', 'the next one completes it'],
    migrationKilled,
    'short',
  ),
  held(
    39,
    ['poison', 'a turn that kills its process', 'given up; neighbours go on'],
    ['test/process/many.test.ts', 'rule 15: a turn that kills its process every time is given up'],
    ['test/engine/commit.test.ts', 'invariant 14: a turn that cannot be written fails alone'],
  ),
  row(40, ['a herd', '10,000 due at once, 9,000 of one person', 'others within 5 s (p99)'], herd),
  row(41, ['the same request at once', '20 times, two processes', 'one row'], sameRequest, 'short'),
  held(
    42,
    ['a storm of cancels', 'while they fire', 'each ends as its cancel answered'],
    ['test/alarms/cancel.test.ts', 'a storm of cancels over a burst'],
  ),
  row(
    47,
    ['user against timer', `${full ? '10,000' : '600'} times at once`, 'either, never both'],
    (ground) => messageAgainstTimer(ground, full ? 10_000 : 600),
  ),
]

const outside = (full: boolean): Entry[] => [
  row(
    43,
    [
      'bad receivers',
      'hang, drip, flood, redirect, reset, 410, 429',
      'good ones beside them on time',
    ],
    badReceivers,
    'short',
  ),
  held(
    44,
    ['slow readers of sockets', 'read nothing', 'closed with 1013; nothing lost'],
    ['test/channels/slow-reader.test.ts', 'closed with 1013, the buffer bounded'],
  ),
  row(
    45,
    ['reconnect storm', `${full ? '2,000' : '300'} clients`, 'each resumes; memory bounded'],
    (ground) => reconnectStorm(ground, full ? 2000 : 300),
  ),
  row(
    46,
    [
      'socket dies before the acknowledgement',
      'relay drops what the client says',
      'comes again, same id',
    ],
    ackLost,
    'short',
  ),
  row(
    48,
    [
      'an agent that schedules itself',
      'each fire sets two more, in three processes',
      'stopped by depth, by budget and by the switch',
    ],
    async (ground) => {
      await byDepth(ground)
      await byBudget(ground)
      await bySwitch(ground, full ? 1000 : 60, full)
    },
  ),
]
