-- The events of other MCP servers that we are subscribed to: what must be known before they call, and how far they told us.
create table wakeful.mcp_sources (
  -- Of the source it belongs to, and part of the address they call.
  key text collate "C" not null,
  -- Ours: written before they are asked, since their challenge comes within that question.
  secret text not null,
  -- Their name for it; null before they have answered.
  subscription_id text,
  cursor text,
  -- When it is renewed; null: it does not expire.
  renew_at timestamptz,
  -- They have ended it, and why.
  ended text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint mcp_sources_pkey primary key (key)
);
