drop table wakeful.langgraph_crons;
