drop table wakeful.mcp_sources;
