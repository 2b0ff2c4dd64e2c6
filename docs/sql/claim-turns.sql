-- Claim due sessions under a lease, and read the next event and the state of each.
prepare claim_turns as
with claimed as (
    update wakeful.sessions t
    set leased_until = ((/* now */ $1::timestamptz at time zone 'UTC' + $3::int * interval '1 millisecond') at time zone 'UTC'),
        claim_token = $4::uuid, claimed_at = /* now */ $1::timestamptz, deaths = t.deaths + (t.claim_token is not null)::int
    from (select t.bucket, t.session_key, t.due_at as was_due_at, t.claim_token as was_token from wakeful.sessions t 
    where t.due_at is not null and t.due_at <= /* now */ $1::timestamptz and (t.leased_until is null or t.leased_until <= /* now */ $1::timestamptz) and t.agent_id = any($5::text[]) and t.user_id <> all($6::text[])
    order by t.due_at limit $2::int for update of t skip locked) d
    where t.bucket = any(array[d.bucket]) and t.session_key = d.session_key
    returning t.bucket, t.session_key, t.user_id, t.agent_id, t.thread_id, t.checkpoint_id, t.done_seq, t.last_seq, t.attempt, t.deaths, d.was_due_at, t.last_user_seq, t.consecutive_autonomous_msgs, t.last_autonomous_at, t.pushed_to)
  select n.next_ms, /* now */ $1::timestamptz as now, c.*, e.id as event_id, e.seq, e.type, e.payload, e.created_at as event_created_at,
         e.trigger_id, e.scheduled_for, e.traceparent, e.lineage,
         (select k.checkpoint from wakeful.checkpoints k
    where k.bucket = c.bucket and k.thread_id = c.session_key and k.checkpoint_ns = ''
      and k.checkpoint_id = c.checkpoint_id and k.type = 'state') as state, (select row_to_json(p) from wakeful.people p
    where p.bucket = c.bucket and p.user_id = c.user_id::varchar collate "C" and (p.has_preferences or p.timezone is not null)) as person
  from (select (select extract(epoch from least((select n.due_at from wakeful.sessions n
    where n.due_at is not null and n.due_at > /* now */ $1::timestamptz order by n.due_at limit 1), (select min(n.leased_until) from wakeful.sessions n where n.due_at is not null and n.leased_until > /* now */ $1::timestamptz)) - /* now */ $1::timestamptz)::float8 * 1000) as next_ms) n
  left join (claimed c cross join lateral (
    select * from wakeful.events e
    where e.bucket = c.bucket and e.session_key = c.session_key and e.seq = c.done_seq + 1 limit 1) e) on true
  order by c.was_due_at;
