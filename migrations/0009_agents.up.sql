-- Remote agents: programs elsewhere that take turns over signed HTTP calls. Few rows, read whole by every process.
create table wakeful.agents (
  -- The name that stands in session keys.
  id text collate "C" primary key check (id ~ '^[a-zA-Z0-9_-]{1,64}$'),
  url text not null,
  -- Kept as it is: it signs every call.
  secret text not null,
  timeout_ms int not null check (timeout_ms between 1000 and 600000),
  -- Whose it is; null for everybody's.
  user_id text,
  -- False: what is meant for it waits until it is switched on again.
  enabled boolean not null default true,
  -- Set: it is gone, and its name is kept so that what still arrives for it fails at once instead of waiting for ever.
  removed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- Which chat stands for which session: one chat, one session, and the other way round.
create table wakeful.telegram_links (
  bucket smallint not null check (bucket between 0 and 1023),
  session_key text collate "C" not null,
  user_id text not null,
  chat_id bigint not null,
  created_at timestamptz not null,
  primary key (bucket, session_key)
);
create unique index telegram_links_chat_idx on wakeful.telegram_links (chat_id);

-- One-use codes by which a chat proves that it belongs to a session; only their hashes are kept.
create table wakeful.telegram_codes (
  code_hash text collate "C" primary key,
  bucket smallint not null check (bucket between 0 and 1023),
  session_key text collate "C" not null,
  -- The chat that used it: the same update, read again after a crash, finds its own work done.
  chat_id bigint,
  expires_at timestamptz not null,
  created_at timestamptz not null
);
create index telegram_codes_expiry_idx on wakeful.telegram_codes (expires_at);

-- One process at a time reads a bot's updates; where it is, is known only after what it read is durable.
create table wakeful.telegram_bots (
  bot_id bigint primary key,
  next_update_id bigint not null default 0,
  claim_token uuid,
  leased_until timestamptz,
  updated_at timestamptz not null
);

-- A pushed message is due until its chat has it, also when a socket has acknowledged it before: both show it.
alter table wakeful.effects drop constraint effects_check;
-- Long messages go out in parts: how many have. And how often a process died while pushing it.
alter table wakeful.effects add column parts_sent int not null default 0 check (parts_sent >= 0),
  add column push_deaths int not null default 0 check (push_deaths >= 0);
-- Which message of a session is the next to be pushed.
create index effects_push_idx on wakeful.effects (bucket, session_key, position) where due_at is not null;

-- Chats are their owner's; agents elsewhere are the operator's.
alter table wakeful.telegram_links enable row level security, force row level security; grant select, insert, update, delete on wakeful.telegram_links to wakeful_owner; create policy engine on wakeful.telegram_links to wakeful_engine using (true); create policy owner on wakeful.telegram_links to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));
alter table wakeful.telegram_codes enable row level security, force row level security; grant select, insert, update, delete on wakeful.telegram_codes to wakeful_owner; create policy engine on wakeful.telegram_codes to wakeful_engine using (true); create policy owner on wakeful.telegram_codes to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));
