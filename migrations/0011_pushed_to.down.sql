alter table wakeful.sessions drop column pushed_to;
