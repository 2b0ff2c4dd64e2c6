drop table wakeful.work_outputs;
drop table wakeful.work;
