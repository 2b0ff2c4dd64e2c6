-- Read the undelivered effects of sessions that have a socket in this process.
prepare undelivered as
select e.* from unnest($1::smallint[], $2::text[], $3::bigint[], $4::bigint[]) w(bucket, key, after, done_after)
  cross join lateral (
    (select bucket, session_key, position, id, payload, event_seq, reason, origin, checkpoint_id, traceparent, created_at, false as completed from wakeful.effects e
     where e.bucket = w.bucket and e.session_key = w.key and e.position > w.after
       and e.status in ('pending', 'executing', 'failed') and e.channel = $5::text and e.type = 'send_message'
     order by e.position limit $6::int)
    union all
    (select bucket, session_key, position, id, payload, event_seq, reason, origin, checkpoint_id, traceparent, created_at, true from wakeful.effects e
     where e.bucket = w.bucket and e.session_key = w.key and e.position > w.done_after
       and e.status = 'completed' and e.channel = $5::text and e.type = 'send_message'
     order by e.position limit $6::int)
    order by position limit $6::int) e
  order by e.bucket, e.session_key, e.position;
