/** ⌘K: people, agents, sessions, schedules and actions, found by a few letters. */
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react'
import { address } from '../api/address.ts'
import { useRead } from '../api/query.ts'
import type { ListedSession, Page } from '../api/shapes.ts'
import { useAct } from '../forms/act.ts'
import { useCapabilities } from '../forms/choices.ts'
import { useSettled } from '../parts/clock.ts'
import { Icon } from '../parts/icon.tsx'
import type { IconName } from '../parts/icon-paths.ts'
import { Trouble } from '../parts/trouble.tsx'
import { pageOf, type Schedule } from '../schedule/schedule.ts'
import { KEY_PART, SESSION_KEY, sessionAddress } from '../session/key.ts'
import { nameOfStop, useStops } from '../stops/stops.ts'
import { useStartTour } from '../tour/conversation.ts'
import { navigate } from './address.ts'
import { mayChange, seesAll, useMe } from './me.ts'
import { PAGES } from './pages.ts'

const TYPING_MS = 120
const EACH_MAX = 5

interface Item {
  readonly key: string
  readonly group: 'Go to' | 'Actions' | 'People' | 'Agents' | 'Schedules' | 'Sessions'
  readonly icon: IconName
  readonly words: string
  readonly aside?: string
  readonly run: () => void
}

export function Palette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const list = useId()
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const stop = useAct(['stops', 'agents', 'inbox', 'sessions', 'overview'], onClose)
  const items = useItems(typed, (path, body) => stop.mutate({ method: 'POST', path, body }))
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  const chosen = Math.min(at, Math.max(0, items.length - 1))
  const idOf = (index: number) => `${list}-${index}`
  const run = (item: Item | undefined) => {
    if (item === undefined) return
    item.run()
    if (item.group !== 'Actions' || !/^(stop|resume) /.test(item.key)) onClose()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      const next = (chosen + step + items.length) % Math.max(1, items.length)
      setAt(next)
      document.getElementById(idOf(next))?.scrollIntoView({ block: 'nearest' })
    } else if (event.key === 'Enter') {
      event.preventDefault()
      run(items[chosen])
    }
  }
  return (
    <dialog
      ref={dialog}
      aria-label="Search"
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) onClose()
      }}
      className="mx-auto mt-[10vh] mb-auto w-[min(36rem,calc(100vw-1.5rem))] overflow-hidden rounded-xl border border-line bg-panel text-ink shadow-2xl backdrop:bg-black/40"
    >
      <div className="flex items-center gap-2 border-b border-line px-4">
        <Icon name="search" className="text-muted" />
        <input
          type="text"
          role="combobox"
          aria-label="Search people, agents, sessions, schedules and actions"
          aria-expanded={items.length > 0}
          aria-controls={list}
          aria-activedescendant={items.length > 0 ? idOf(chosen) : undefined}
          placeholder="People, agents, sessions, schedules, actions"
          value={typed}
          maxLength={100}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setTyped(event.target.value)
            setAt(0)
          }}
          onKeyDown={onKeyDown}
          className="h-12 w-full bg-transparent outline-none!"
        />
      </div>
      {stop.error !== null && <Trouble error={stop.error} />}
      <div
        id={list}
        role="listbox"
        aria-label="Results"
        className="max-h-[55vh] overflow-y-auto p-2 text-[13px]"
      >
        {items.map((item, index) => (
          <Row
            key={item.key}
            id={idOf(index)}
            item={item}
            isFirst={items[index - 1]?.group !== item.group}
            isChosen={index === chosen}
            onRun={() => run(item)}
          />
        ))}
      </div>
      {items.length === 0 && <p className="px-4 pb-4 text-[13px] text-muted">No results.</p>}
    </dialog>
  )
}

interface RowProps {
  readonly id: string
  readonly item: Item
  readonly isFirst: boolean
  readonly isChosen: boolean
  readonly onRun: () => void
}

function Row({ id, item, isFirst, isChosen, onRun }: RowProps) {
  return (
    <>
      {isFirst && (
        <div role="presentation" className="px-2 pt-2 pb-1 text-xs font-medium text-muted">
          {item.group}
        </div>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys */}
      <div
        id={id}
        role="option"
        tabIndex={-1}
        aria-selected={isChosen}
        onClick={onRun}
        className="flex cursor-pointer items-center gap-2.5 rounded-md px-2 py-1.5 hover:bg-sunk aria-selected:bg-sunk"
      >
        <Icon name={item.icon} className="text-muted" />
        <span className="min-w-0 truncate">{item.words}</span>
        {item.aside !== undefined && (
          <span className="ml-auto shrink-0 text-muted">{item.aside}</span>
        )}
      </div>
    </>
  )
}

function useItems(typed: string, post: (path: string, body: object) => void): readonly Item[] {
  const words = typed.trim().toLowerCase()
  const found = useFound(words)
  const actions = useActions(post)
  return useMemo(() => {
    const fits = (item: Item) =>
      words
        .split(' ')
        .every((word) => `${item.words} ${item.aside ?? ''}`.toLowerCase().includes(word))
    const pages: Item[] = PAGES.map(({ href, label, icon, letter }) => ({
      key: `go ${href}`,
      group: 'Go to',
      icon,
      words: label,
      aside: `g ${letter}`,
      run: () => navigate(href),
    }))
    return [...pages.filter(fits), ...actions.filter(fits), ...found]
  }, [words, found, actions])
}

/** What one can do from anywhere. */
function useActions(post: (path: string, body: object) => void): readonly Item[] {
  const me = useMe()
  const stops = useStops()
  const { agents } = useCapabilities()
  const startTour = useStartTour()
  const group = 'Actions' as const
  const mayStop = me?.role === 'admin' || me?.role === 'service'
  const stopping = agents.filter((id) => !stops.some(({ target }) => target === id))
  const items: Item[] = []
  if (mayChange(me))
    items.push({
      ...{ key: 'new', group, icon: 'plus', words: 'New schedule', aside: 'n' },
      run: () => navigate(`${location.hash.replace(/^#/, '').split('?', 1)[0] || '/'}?new=1`),
    })
  for (const stop of mayStop ? stops : [])
    items.push({
      ...{ key: `resume ${stop.id}`, group, icon: 'play', words: `Resume ${nameOfStop(stop)}` },
      run: () => post(`v1/stops/${stop.id}/resume`, {}),
    })
  for (const id of mayStop ? stopping : [])
    items.push({
      ...{ key: `stop ${id}`, group, icon: 'stop', words: `Stop agent ${id}` },
      run: () => post('v1/stops', { level: 'agent', target: id }),
    })
  if (mayStop)
    items.push({
      ...{ key: 'all', group, icon: 'stop', words: 'Stop everything, a person or a trigger' },
      run: () => navigate('/system/stops'),
    })
  if (seesAll(me) && startTour !== null)
    items.push({
      ...{ key: 'tour', group, icon: 'chat', words: 'Start the demo conversation' },
      run: startTour,
    })
  return items
}

/** What the server knows by these letters; people and agents also without any. */
function useFound(words: string): readonly Item[] {
  const me = useMe()
  const all = seesAll(me)
  const q = useSettled(words, TYPING_MS)
  const isAsked = q !== ''
  const { agents } = useCapabilities()
  const people = useRead<Page<{ user_id: string }>>(
    address('v1/people', { q, order: 'last_seen', limit: EACH_MAX }),
    ['people'],
    all,
  )
  const schedules = useRead<Page<Schedule>>(
    address('v1/schedules', { q, limit: EACH_MAX }),
    ['schedules'],
    isAsked,
  )
  const sessions = useRead<Page<ListedSession>>(
    address('v1/sessions', { q, order: 'activity', limit: EACH_MAX }),
    ['sessions'],
    isAsked,
  )
  return useMemo(() => {
    const person = (id: string): Item => ({
      ...{ key: `person ${id}`, group: 'People', icon: 'people', words: id },
      run: () => navigate(`/people/${encodeURIComponent(id)}`),
    })
    const listed = people.data?.data.map(({ user_id }) => user_id) ?? []
    const isOther = all && KEY_PART.test(q) && people.data?.data.length === 0
    const isKey = SESSION_KEY.test(q)
    const keys = isAsked ? (sessions.data?.data ?? []).map(({ session_key }) => session_key) : []
    return [
      ...(isOther ? [q] : listed).map(person),
      ...agents
        .filter((id) => all && id.toLowerCase().includes(q))
        .slice(0, EACH_MAX)
        .map(
          (id): Item => ({
            ...{ key: `agent ${id}`, group: 'Agents', icon: 'agent', words: id },
            run: () => navigate(`/agents/${encodeURIComponent(id)}`),
          }),
        ),
      ...(isAsked ? (schedules.data?.data ?? []) : []).map(
        ({ kind, id, name, note, user_id }): Item => ({
          ...{ key: `${kind} ${id}`, group: 'Schedules', icon: kind, words: name || note },
          ...{ aside: user_id, run: () => navigate(pageOf(kind, id)) },
        }),
      ),
      ...[...new Set(isKey ? [q, ...keys] : keys)].map(
        (key): Item => ({
          ...{ key: `session ${key}`, group: 'Sessions', icon: 'chat', words: key },
          run: () => navigate(sessionAddress(key)),
        }),
      ),
    ]
  }, [q, isAsked, all, agents, people.data, schedules.data, sessions.data])
}
