-- The trace a message belongs to, so that its delivery needs no look at the event it came from, which may be gone by then.
alter table wakeful.effects add column traceparent text;
