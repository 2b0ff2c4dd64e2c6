create table wakeful.telegram_links (
  bucket smallint not null check (bucket between 0 and 1023),
  session_key text collate "C" not null,
  user_id text not null,
  chat_id bigint not null,
  created_at timestamptz not null,
  primary key (bucket, session_key)
);
create unique index telegram_links_chat_idx on wakeful.telegram_links (chat_id);
create table wakeful.telegram_codes (
  code_hash text collate "C" primary key,
  bucket smallint not null check (bucket between 0 and 1023),
  session_key text collate "C" not null,
  chat_id bigint,
  expires_at timestamptz not null,
  created_at timestamptz not null
);
create index telegram_codes_expiry_idx on wakeful.telegram_codes (expires_at);
create table wakeful.telegram_bots (
  bot_id bigint primary key,
  next_update_id bigint not null default 0,
  claim_token uuid,
  leased_until timestamptz,
  updated_at timestamptz not null
);

alter table wakeful.links no force row level security;
alter table wakeful.link_codes no force row level security;
alter table wakeful.sessions no force row level security;
alter table wakeful.effects no force row level security;
insert into wakeful.telegram_links (bucket, session_key, user_id, chat_id, created_at)
  select bucket, session_key, user_id, address::bigint, created_at from wakeful.links where channel = 'telegram' and ended_at is null;
insert into wakeful.telegram_codes (code_hash, bucket, session_key, chat_id, expires_at, created_at)
  select code_hash, bucket, session_key, used_by::bigint, expires_at, created_at from wakeful.link_codes where channel = 'telegram';
insert into wakeful.telegram_bots (bot_id, next_update_id, claim_token, leased_until, updated_at)
  select account::bigint, coalesce(cursor::bigint, 0), claim_token, leased_until, updated_at from wakeful.channel_readers where channel = 'telegram';
-- Only chats are known from here on: what was to go elsewhere stays for the sockets.
update wakeful.sessions s set pushed_to = (select 'telegram:' || t.chat_id from wakeful.telegram_links t
  where t.bucket = s.bucket and t.session_key = s.session_key) where pushed_to is not null;
update wakeful.effects e set due_at = null, claim_token = null, claimed_at = null where due_at is not null
  and not exists (select 1 from wakeful.telegram_links t where t.bucket = e.bucket and t.session_key = e.session_key);
alter table wakeful.effects force row level security;
alter table wakeful.sessions force row level security;
drop table wakeful.deliveries;
drop table wakeful.links;
drop table wakeful.link_codes;
drop table wakeful.channel_readers;

alter table wakeful.telegram_links enable row level security, force row level security; grant select, insert, update, delete on wakeful.telegram_links to wakeful_owner; create policy engine on wakeful.telegram_links to wakeful_engine using (true); create policy owner on wakeful.telegram_links to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));
alter table wakeful.telegram_codes enable row level security, force row level security; grant select, insert, update, delete on wakeful.telegram_codes to wakeful_owner; create policy engine on wakeful.telegram_codes to wakeful_engine using (true); create policy owner on wakeful.telegram_codes to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));
