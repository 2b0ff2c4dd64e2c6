update wakeful.sessions set due_at = now() where due_at is null and done_seq < last_seq;
alter table wakeful.sessions drop constraint sessions_found_check;
alter table wakeful.sessions add constraint sessions_check1 check (due_at is not null or done_seq = last_seq);
alter table wakeful.autonomy_timers set (fillfactor = 80);
alter table wakeful.sessions set (fillfactor = 60);
drop table wakeful.leases;
