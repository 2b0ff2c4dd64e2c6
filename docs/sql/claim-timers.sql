-- Lease the idle sessions of due timers, for turns whose events do not exist yet.
prepare claim_timers as
with due as materialized (
    select t.ctid as place, t.* from wakeful.autonomy_timers t 
    where t.status = 'pending' and t.fire_at <= /* now */ $1::timestamptz and true and t.id not in (select unnest(l.ids) from wakeful.leases l where l.ends_at > /* now */ $1::timestamptz)
    order by t.fire_at limit $2::int),
  idle as materialized (
    select distinct on (d.bucket + 0, d.session_key) s.ctid as head, d.place, d.id, d.timer_id, d.fire_at, d.payload, d.traceparent, d.lineage,
      (select k.checkpoint from wakeful.checkpoints k
    where k.bucket = s.bucket and k.thread_id = s.session_key and k.checkpoint_ns = ''
      and k.checkpoint_id = s.checkpoint_id and k.type = 'state') as state, (select row_to_json(p) from wakeful.people p
    where p.bucket = s.bucket and p.user_id = s.user_id::varchar collate "C" and (p.has_preferences or p.timezone is not null)) as person
    from due d join wakeful.sessions s on s.bucket = any(array[d.bucket]) and s.session_key = d.session_key
    where s.last_seq = s.done_seq and s.claim_token is null and s.agent_id = any($5::text[]) and s.user_id <> all($6::text[])
      
    order by d.bucket + 0, d.session_key, d.fire_at, d.id),
  heads as (
    update wakeful.sessions s
    set claim_token = $4::uuid, claimed_at = /* now */ $1::timestamptz, leased_until = ((/* now */ $1::timestamptz at time zone 'UTC' + $3::int * interval '1 millisecond') at time zone 'UTC'), in_flight = i.id
    from idle i where s.ctid = i.head
    returning s.ctid as head, s.bucket, s.session_key, s.last_seq, s.last_user_seq, s.consecutive_autonomous_msgs,
      s.last_autonomous_at, s.checkpoint_id, s.pushed_to, i.place, i.id, i.timer_id, i.fire_at, i.payload, i.traceparent, i.lineage, i.state, i.person),
  kept as (
    insert into wakeful.leases (token, ends_at, ids) select $4::uuid, ((/* now */ $1::timestamptz at time zone 'UTC' + $3::int * interval '1 millisecond') at time zone 'UTC'), array_agg(id) from heads having count(*) > 0
    on conflict (token) do update set ids = leases.ids || excluded.ids)
  select n.seen, n.next_ms, /* now */ $1::timestamptz as now, h.*
  from (select (select count(*)::int from due) as seen, least((select extract(epoch from least((select n.fire_at from wakeful.autonomy_timers n
    where n.status = 'pending' and n.fire_at > /* now */ $1::timestamptz order by n.fire_at limit 1)) - /* now */ $1::timestamptz)::float8 * 1000), (select extract(epoch from min(l.ends_at) - /* now */ $1::timestamptz)::float8 * 1000 from wakeful.leases l where l.ends_at > /* now */ $1::timestamptz)) as next_ms) n left join heads h on true;
