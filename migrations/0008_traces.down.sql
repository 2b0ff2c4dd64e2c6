alter table wakeful.effects drop column traceparent;
