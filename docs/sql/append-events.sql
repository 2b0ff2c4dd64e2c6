-- Append events to sessions: assign seq, deduplicate by client id, cancel pending timers, make the session due.
prepare append_events as
with input as materialized (select * from unnest($2::smallint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[]) with ordinality i(bucket, session_key, user_id, agent_id, thread_id, id, type, payload, client_id, traceparent, lineage, ord)),
  known as materialized (
    select e.* from (select distinct bucket, session_key, client_id from input where client_id is not null) i
    cross join lateral (select * from wakeful.events e
      where e.bucket = i.bucket and e.session_key = i.session_key and e.client_id = i.client_id limit 1) e),
  fresh as (
    select f.* from (
      select i.*, row_number() over (partition by i.bucket, i.session_key, i.client_id order by i.ord) as copy
      from input i) f
    where (f.client_id is null or f.copy = 1)
      and not exists (select 1 from known k where k.bucket = f.bucket and k.session_key = f.session_key
                      and k.client_id = f.client_id)),
  -- Gathered into arrays for each session, so that numbering needs no join of one CTE with another:
  -- the planner knows nothing of their sizes and would compare every row with every other.
  heads as (
    update wakeful.sessions s
    set last_seq = s.last_seq + h.total,
        last_user_seq = case when h.last_user_n is null then s.last_user_seq else s.last_seq + h.last_user_n end,
        last_user_at = case when h.last_user_n is null then s.last_user_at else /* now */ $1::timestamptz end,
        due_at = coalesce(s.due_at, /* now */ $1::timestamptz), updated_at = /* now */ $1::timestamptz
    from (select bucket, session_key, count(*)::int as total, max(n) filter (where type = 'user_message')::int as last_user_n,
                 array_agg(id order by n) as ids, array_agg(type order by n) as types, array_agg(payload order by n) as payloads,
                 array_agg(client_id order by n) as clients, array_agg(traceparent order by n) as traces,
                 array_agg(lineage order by n) as lineages
          from (select *, row_number() over (partition by bucket, session_key order by ord) as n from fresh) numbered
          group by bucket, session_key) h
    where s.bucket = any(array[h.bucket]) and s.session_key = h.session_key
    returning s.bucket, s.session_key, s.last_seq - h.total as base, h.last_user_n is not null as spoke,
      h.ids, h.types, h.payloads, h.clients, h.traces, h.lineages),
  cancelled as (
    update wakeful.autonomy_timers t set status = 'cancelled', updated_at = /* now */ $1::timestamptz
    from heads h
    where h.spoke and t.bucket = any(array[h.bucket]) and t.session_key = h.session_key
      -- Written so that the index of all pending timers does not fit: only this session's are wanted.
      and t.status || '' in ('pending', 'paused')),
  added as (
    insert into wakeful.events (bucket, session_key, seq, id, type, payload, client_id, traceparent, lineage, created_at)
    select h.bucket, h.session_key, h.base + e.n, e.id, e.type, e.payload::json, e.client_id, e.trace, e.lineage, /* now */ $1::timestamptz
    from heads h cross join lateral unnest(h.ids, h.types, h.payloads, h.clients, h.traces, h.lineages)
      with ordinality e(id, type, payload, client_id, trace, lineage, n)
    returning id, session_key, seq, type, payload, client_id, created_at)
  select true as fresh, id, session_key, seq, type, payload, client_id, created_at from added
  union all
  select false, id, session_key, seq, type, payload, client_id, created_at from known;
