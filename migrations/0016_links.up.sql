-- Where people are reached beside their sockets: a link is one address on one channel. What they write there goes into
-- `session_key`, and what that session says goes there; with `person` also what their other agents say unasked.
create table wakeful.links (
  bucket smallint not null check (bucket between 0 and 1023),
  id uuid not null,
  user_id text collate "C" not null,
  session_key text collate "C" not null,
  channel text collate "C" not null,
  address text collate "C" not null,
  person boolean not null,
  -- The order in which a person's links are tried, lowest first.
  rank int not null,
  -- When they last wrote there.
  heard_at timestamptz,
  -- Set: the channel takes nothing more before they write again.
  closed_at timestamptz,
  -- Set: nobody is there any more. Kept to be shown.
  ended_at timestamptz,
  last_outcome text check (last_outcome in ('sent', 'later', 'closed', 'refused', 'gone', 'failed')),
  last_error text,
  last_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (bucket, id)
);
-- One address stands for one session, and a session has one address on each channel.
create unique index links_address_idx on wakeful.links (channel, address) where ended_at is null;
create unique index links_session_idx on wakeful.links (bucket, session_key, channel) where ended_at is null;
create index links_user_idx on wakeful.links (bucket, user_id);

-- What a channel said of a message, once for each link and, where it was sent, for each part.
create table wakeful.deliveries (
  bucket smallint not null,
  session_key text collate "C" not null,
  position bigint not null,
  id uuid not null,
  link_id uuid not null,
  channel text not null,
  outcome text not null check (outcome in ('sent', 'closed', 'refused', 'gone', 'failed')),
  -- The channel's own name for it; by this it is told later that it failed, or that somebody answers to it.
  provider_id text collate "C",
  error text,
  created_at timestamptz not null,
  primary key (bucket, session_key, position, id)
);
create index deliveries_link_idx on wakeful.deliveries (bucket, link_id, provider_id);

-- One-use codes by which an address proves whose it is; only their hashes are kept.
create table wakeful.link_codes (
  code_hash text collate "C" primary key,
  bucket smallint not null check (bucket between 0 and 1023),
  session_key text collate "C" not null,
  channel text collate "C" not null,
  person boolean not null,
  -- The address that used it: the same message, read again after a crash, finds its own work done.
  used_by text,
  expires_at timestamptz not null,
  created_at timestamptz not null
);
create index link_codes_expiry_idx on wakeful.link_codes (expires_at);

-- One process at a time reads an account of a channel; where it is, is known only after what it read is durable.
create table wakeful.channel_readers (
  channel text collate "C" not null,
  account text collate "C" not null,
  cursor text,
  claim_token uuid,
  leased_until timestamptz,
  updated_at timestamptz not null,
  primary key (channel, account)
);

-- Chats that were linked stay linked; row-level security would hide them from the owner of the tables.
alter table wakeful.telegram_links no force row level security;
alter table wakeful.telegram_codes no force row level security;
insert into wakeful.links (bucket, id, user_id, session_key, channel, address, person, rank, created_at, updated_at)
  select bucket, gen_random_uuid(), user_id, session_key, 'telegram', chat_id::text, false, 0, created_at, created_at from wakeful.telegram_links;
insert into wakeful.link_codes (code_hash, bucket, session_key, channel, person, used_by, expires_at, created_at)
  select code_hash, bucket, session_key, 'telegram', false, chat_id::text, expires_at, created_at from wakeful.telegram_codes;
insert into wakeful.channel_readers (channel, account, cursor, claim_token, leased_until, updated_at)
  select 'telegram', bot_id::text, next_update_id::text, claim_token, leased_until, updated_at from wakeful.telegram_bots;
drop table wakeful.telegram_links;
drop table wakeful.telegram_codes;
drop table wakeful.telegram_bots;

alter table wakeful.links enable row level security, force row level security; grant select, insert, update, delete on wakeful.links to wakeful_owner; create policy engine on wakeful.links to wakeful_engine using (true); create policy owner on wakeful.links to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
alter table wakeful.deliveries enable row level security, force row level security; grant select, insert, update, delete on wakeful.deliveries to wakeful_owner; create policy engine on wakeful.deliveries to wakeful_engine using (true); create policy owner on wakeful.deliveries to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));
alter table wakeful.link_codes enable row level security, force row level security; grant select, insert, update, delete on wakeful.link_codes to wakeful_owner; create policy engine on wakeful.link_codes to wakeful_engine using (true); create policy owner on wakeful.link_codes to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));
