-- Idempotency keys, kept for 24 hours. The body is `json`, not `jsonb`: it is replayed verbatim.
create table wakeful.idempotency_keys (
  owner text not null,
  key text not null,
  fingerprint text not null,
  status int,
  body json,
  created_at timestamptz not null,
  primary key (owner, key)
);
create index idempotency_keys_created_at on wakeful.idempotency_keys (created_at);
