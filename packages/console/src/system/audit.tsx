/** Every change that was made, by whom and for whom; never the values. */
import { address } from '../api/address.ts'
import { usePages } from '../api/query.ts'
import { useFilters } from '../frame/address.ts'
import { FilterBar, WordsFilter } from '../kit/filters.tsx'
import { PersonLink } from '../kit/links.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { Badge, Empty } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'

const ROWS = 100

interface AuditEntry {
  readonly id: string
  readonly at: string
  readonly actor_role: string
  readonly actor_user: string | null
  readonly actor_key: string | null
  readonly acted_for: boolean
  readonly operation: string
  readonly object_id: string | null
  readonly owner: string | null
  readonly summary: string
}

export function Audit() {
  const filters = useFilters()
  const path = address('v1/audit', {
    owner: filters.get('owner'),
    operation: filters.get('operation'),
    limit: ROWS,
  })
  const list = usePages<AuditEntry>(path, ['audit', 'sessions', 'schedules', 'stops', 'keys'])
  return (
    <>
      <FilterBar>
        <WordsFilter
          main
          filters={filters}
          name="operation"
          label="Operation, such as post_message"
          className="flex-1 basis-52 sm:max-w-sm"
        />
        <WordsFilter filters={filters} name="owner" label="Owner" className="w-40" />
      </FilterBar>
      {list.error !== null && <Trouble spaced error={list.error} />}
      {list.rows?.length === 0 ? (
        <Empty title="No entry">Nothing was changed, or no entry matches the filters.</Empty>
      ) : (
        (list.rows !== undefined || list.error === null) && (
          <Table
            label="Audit log"
            columns={COLUMNS}
            rows={list.rows}
            keyOf={({ id }) => id}
            more={list.hasNextPage}
            loading={list.isFetchingNextPage}
            onMore={() => void list.fetchNextPage()}
          />
        )
      )}
    </>
  )
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  { name: 'Time', className: 'w-[8.5rem]', cell: ({ at }) => <When at={at} /> },
  {
    name: 'Who',
    className: 'w-[13rem]',
    cell: ({ actor_role, actor_user, acted_for }) => (
      <span className="inline-flex items-center gap-2">
        {actor_user ?? actor_role}
        {acted_for && <Badge tone="own">acting for</Badge>}
      </span>
    ),
  },
  {
    name: 'Owner',
    className: 'w-[12%]',
    cell: ({ owner }) =>
      owner === null ? <span className="text-muted">–</span> : <PersonLink id={owner} />,
  },
  {
    name: 'Operation',
    className: 'w-[15%]',
    cell: ({ operation }) => <code className="font-mono text-xs">{operation}</code>,
  },
  {
    name: 'What',
    className: 'max-md:basis-full',
    cell: ({ summary, object_id }) => (
      <span className="text-muted" title={summary}>
        {summary}
        {object_id !== null && ` ${object_id}`}
      </span>
    ),
  },
]
