/** How clients find out where to get tokens for this server: protected resource metadata (RFC 9728). */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AGENT_SCOPE } from './authentication/jwt.ts'

const PATH = '/.well-known/oauth-protected-resource'
const MCP = '/mcp'

export interface OauthResource {
  readonly issuer: string
  readonly audience: string
}

export function addOauthRoutes(app: FastifyInstance, { issuer, audience }: OauthResource): void {
  // An audience that is an address is the one that clients know this server by.
  const known = URL.parse(audience)?.protocol.startsWith('http') ? new URL(audience) : null
  const origin = (request: FastifyRequest) =>
    known?.origin ?? URL.parse(`${request.protocol}://${request.host}`)?.origin ?? ''
  app.addHook('onSend', async (request, reply) => {
    if (reply.statusCode === 401)
      reply.header('www-authenticate', `Bearer resource_metadata="${origin(request)}${PATH}${MCP}"`)
  })
  for (const path of ['', MCP])
    app.get(`${PATH}${path}`, async (request) => ({
      resource: known === null ? `${origin(request)}${path}` : audience,
      authorization_servers: [issuer],
      scopes_supported: [AGENT_SCOPE],
      bearer_methods_supported: ['header'],
      resource_name: 'Wakeful',
    }))
}
