-- Turn due timers into events, in the order of their times.
prepare promote_timers as
with due as materialized (
    select t.ctid as place, t.bucket, t.session_key, t.fire_at from wakeful.autonomy_timers t 
    where t.status = 'pending' and t.fire_at <= /* now */ $1::timestamptz and true and true
    order by t.fire_at limit $3::int),
  free as materialized (
    select s.ctid as head, d.places, d.total
    from (select bucket, session_key, array_agg(place) as places, count(*) as total, min(fire_at) as first_at
          from due group by bucket, session_key) d
    join wakeful.sessions s on s.bucket = any(array[d.bucket]) and s.session_key = d.session_key
    where true for update of s skip locked),
  taken as (
    delete from wakeful.autonomy_timers t
    using (select f.head, unnest(f.places[1:$2::int - f.before]) as place
          from (select head, places, (sum(total) over (rows unbounded preceding) - total)::int as before from free) f
          where f.before < $2::int) d
    where t.ctid = d.place and t.status || '' = 'pending' and greatest(t.fire_at, /* now */ $1::timestamptz) = /* now */ $1::timestamptz
    returning t, d.head),
  -- Gathered into one array for each session, so that numbering needs no join of one CTE with another: the planner knows
  -- nothing of their sizes and would compare every row with every other. Sorted once, before: an order within the
  -- aggregate is a sort for each session.
  heads as (
    update wakeful.sessions s
    set last_seq = s.last_seq + h.total, updated_at = /* now */ $1::timestamptz,
        due_at = case when $9::boolean and $6::uuid is not null and s.done_seq = s.last_seq and s.agent_id = any($7::text[]) and s.user_id <> all($8::text[]) then s.due_at else coalesce(s.due_at, /* now */ $1::timestamptz) end,
        leased_until = case when $6::uuid is not null and s.done_seq = s.last_seq and s.agent_id = any($7::text[]) and s.user_id <> all($8::text[]) then ((/* now */ $1::timestamptz at time zone 'UTC' + $5::int * interval '1 millisecond') at time zone 'UTC') else s.leased_until end,
        claim_token = case when $6::uuid is not null and s.done_seq = s.last_seq and s.agent_id = any($7::text[]) and s.user_id <> all($8::text[]) then $6::uuid else s.claim_token end,
        claimed_at = case when $6::uuid is not null and s.done_seq = s.last_seq and s.agent_id = any($7::text[]) and s.user_id <> all($8::text[]) then /* now */ $1::timestamptz else s.claimed_at end
    from (select k.head, count(*)::int as total, array_agg(k.t) as timers,
                 (sum(count(*)) over (rows unbounded preceding) - count(*))::int as before
          from (select head, t from taken order by head, (t).fire_at, (t).id) k
          group by k.head) h
    where s.bucket = any(array[(h.timers[1]).bucket]) and s.session_key = (h.timers[1]).session_key
    returning s.bucket, s.session_key, s.user_id, s.checkpoint_id, s.attempt, s.deaths,
      s.last_user_seq, s.consecutive_autonomous_msgs, s.last_autonomous_at, s.pushed_to, s.last_seq - h.total as base, h.timers, h.before,
      -- Idle before, too: the same token may have leased it a moment ago, for the event that stands before these.
      coalesce(s.claim_token = $6::uuid, false) and s.last_seq - h.total = s.done_seq as leased),
  numbered as (
    select h.*, unnest(h.timers) as timer, generate_subscripts(h.timers, 1) as n from heads h),
  fires as materialized (
    select h.bucket, h.session_key, h.user_id, h.checkpoint_id, h.attempt, h.deaths, h.last_user_seq,
      h.consecutive_autonomous_msgs, h.last_autonomous_at, h.pushed_to, h.leased and h.n = 1 as leased, h.base + h.n as seq, h.before + h.n as place,
      '{"timer_id":' || to_json((h.timer).timer_id)::text ||
        case when (h.timer).payload is null then '' else ',"payload":' || (h.timer).payload::text end || '}' as payload,
      (h.timer).id as trigger_id, (h.timer).fire_at as scheduled_for, (h.timer).traceparent, (h.timer).lineage
    from numbered h),
  added as (
    insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, lineage, created_at)
    select bucket, session_key, seq, ($4::uuid[])[place], 'timer', payload::json, trigger_id, scheduled_for, traceparent, lineage, /* now */ $1::timestamptz from fires),
  kept as (insert into wakeful.leases (token, ends_at, buckets, keys)
    select $6::uuid, ((/* now */ $1::timestamptz at time zone 'UTC' + $5::int * interval '1 millisecond') at time zone 'UTC'), array_agg(bucket), array_agg(session_key) from heads where leased and $9::boolean having count(*) > 0
    on conflict (token) do update set buckets = leases.buckets || excluded.buckets, keys = leases.keys || excluded.keys)
  -- What is true of the whole batch stands in its first row alone, and what the process knows by itself in none.
  select case when f.place > 1 then null else n.seen end as seen, case when f.place > 1 then null else n.next_ms end as next_ms,
    case when f.place > 1 then null else /* now */ $1::timestamptz end as now, f.place, f.bucket, f.session_key, f.leased, f.trigger_id, f.scheduled_for,
    f.traceparent, f.lineage, f.seq, f.attempt, f.deaths, f.last_user_seq, f.consecutive_autonomous_msgs, f.last_autonomous_at, f.checkpoint_id,
    f.pushed_to, case when f.leased then f.payload end as payload,
    case when f.leased then (select k.checkpoint from wakeful.checkpoints k
    where k.bucket = f.bucket and k.thread_id = f.session_key and k.checkpoint_ns = ''
      and k.checkpoint_id = f.checkpoint_id and k.type = 'state') end as state, case when f.leased then (select row_to_json(p) from wakeful.people p
    where p.bucket = f.bucket and p.user_id = f.user_id::varchar collate "C" and (p.has_preferences or p.timezone is not null)) end as person
  from (select (select count(*)::int from due) as seen, (select extract(epoch from least((select n.fire_at from wakeful.autonomy_timers n
    where n.status = 'pending' and n.fire_at > /* now */ $1::timestamptz order by n.fire_at limit 1)) - /* now */ $1::timestamptz)::float8 * 1000) as next_ms) n left join fires f on true;
