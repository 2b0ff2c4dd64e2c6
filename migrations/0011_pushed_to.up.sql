-- Where the messages of a session are pushed, beside its sockets: `<channel>:<address>`, whichever channel that is. What
-- chats were linked to is taken over; row-level security would hide it from the owner of the tables.
alter table wakeful.sessions add column pushed_to text;
alter table wakeful.sessions no force row level security;
alter table wakeful.telegram_links no force row level security;
update wakeful.sessions s set pushed_to = 'telegram:' || l.chat_id
  from wakeful.telegram_links l where l.bucket = s.bucket and l.session_key = s.session_key;
alter table wakeful.sessions force row level security;
alter table wakeful.telegram_links force row level security;
