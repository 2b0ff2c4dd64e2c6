drop index wakeful.effects_push_idx;
alter table wakeful.effects drop column parts_sent, drop column push_deaths;
update wakeful.effects set due_at = null, claim_token = null where due_at is not null;
alter table wakeful.effects add constraint effects_check check (due_at is null or status in ('pending', 'executing'));
drop table wakeful.telegram_bots;
drop table wakeful.telegram_codes;
drop table wakeful.telegram_links;
drop table wakeful.agents;
