-- Who outside is told of what happens (MCP Events): one row for each principal, address, name and arguments.
create table wakeful.subscriptions (
  bucket smallint not null,
  -- Derived from what makes it this subscription, so that asking again finds it.
  id uuid not null,
  -- Whose events they are.
  user_id text collate "C" not null,
  -- Whose credentials asked for it; a key that is revoked ends it.
  principal text collate "C" not null,
  key_id uuid,
  name text not null,
  arguments json not null,
  url text not null,
  -- The receiver's own; the old one signs beside the new one for a while.
  secret text not null,
  old_secret text,
  old_secret_until timestamptz,
  -- How far what happened was read.
  cursor text not null,
  -- Null: until it is ended.
  expires_at timestamptz,
  -- Nothing more is read for it; its last word is being delivered.
  ended_at timestamptz,
  -- Something was given up since the receiver last asked.
  truncated boolean not null default false,
  last_delivery_at timestamptz,
  last_error text,
  failed_since timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint subscriptions_pkey primary key (bucket, id),
  constraint subscriptions_bucket check (bucket between 0 and 1023),
  constraint subscriptions_old_secret check ((old_secret is null) = (old_secret_until is null))
);
create index subscriptions_user_idx on wakeful.subscriptions (bucket, user_id, created_at desc, id desc);
create index subscriptions_created_idx on wakeful.subscriptions (created_at desc, id desc);
alter table wakeful.subscriptions enable row level security, force row level security; grant select, insert, update, delete on wakeful.subscriptions to wakeful_owner; create policy engine on wakeful.subscriptions to wakeful_engine using (true); create policy owner on wakeful.subscriptions to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

-- What is on its way to them. A row is due until its receiver has taken it or it is given up; then it is gone.
create table wakeful.subscription_deliveries (
  bucket smallint not null,
  id uuid not null,
  subscription_id uuid not null,
  user_id text collate "C" not null,
  -- The same for all attempts, and for all subscriptions that are told of it.
  event_id text not null,
  body text not null,
  attempt int not null default 0,
  failure_count int not null default 0,
  due_at timestamptz not null,
  claim_token uuid,
  claimed_at timestamptz,
  created_at timestamptz not null,
  constraint subscription_deliveries_pkey primary key (bucket, id),
  constraint subscription_deliveries_subscription foreign key (bucket, subscription_id) references wakeful.subscriptions (bucket, id) on delete cascade,
  constraint subscription_deliveries_attempt check (attempt >= 0 and failure_count >= 0)
);
create index subscription_deliveries_due_idx on wakeful.subscription_deliveries (due_at);
create unique index subscription_deliveries_event_idx on wakeful.subscription_deliveries (bucket, subscription_id, event_id);
alter table wakeful.subscription_deliveries enable row level security, force row level security; grant select, insert, update, delete on wakeful.subscription_deliveries to wakeful_owner; create policy engine on wakeful.subscription_deliveries to wakeful_engine using (true); create policy owner on wakeful.subscription_deliveries to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
