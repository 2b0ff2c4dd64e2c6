drop table wakeful.source_polls;
drop table wakeful.signals;
drop table wakeful.intent_executions;
drop table wakeful.intent_used;
drop table wakeful.intent_watches;
drop table wakeful.scheduled_intents;
drop table wakeful.people;
