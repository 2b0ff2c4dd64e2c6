alter table wakeful.intent_executions drop column cause;
alter table wakeful.turns drop column cause;
