drop table wakeful.agent_minutes;
