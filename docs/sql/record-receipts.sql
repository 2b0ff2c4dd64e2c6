-- Record what became of delivered effects.
prepare record_receipts as
with r as materialized (
    select bucket, key, position, bool_or(done) as done, sum(attempts)::int as attempts
    from unnest($2::smallint[], $3::text[], $4::bigint[], $5::boolean[], $6::int[]) r(bucket, key, position, done, attempts) group by bucket, key, position order by bucket, key, position)
  update wakeful.effects e
  set status = case when r.done then 'completed' when e.status = 'failed' then 'failed' else 'executing' end,
      delivered_by = case when r.done then e.channel end, delivered_at = case when r.done then /* now */ $1::timestamptz end,
      last_error = case when r.done then null else e.last_error end,
      attempt_count = e.attempt_count + r.attempts,
      last_attempt_at = case when r.attempts > 0 then /* now */ $1::timestamptz else e.last_attempt_at end,
      updated_at = /* now */ $1::timestamptz
  from r
  where e.bucket = any(array[r.bucket]) and e.session_key = r.key
    and e.position = r.position and e.status || '' in ('pending', 'executing', 'failed')
  returning e.session_key, e.position;
