import type { Config } from '../../../shared/core/config.js';
import type { ConfigPart } from './config-part.js';
import { gateProxy } from './forward-config.js';
import { HOST_PATH } from './readiness-gate.js';

/** How visitors reach services over HTTPS. For a null field, Caddy uses its default. */
export type EdgeTls = NonNullable<Config['edgeTls']>;

const AUTHORITY = 'ranvier';
const LOOPBACK = '127.0.0.1';
const POLICY_ID = 'ranvier-certificates';
const DOMAINS_POLICY_ID = 'ranvier-domain-certificates';

/**
 * Returns the configuration that makes Caddy obtain a certificate at the first handshake. Caddy first asks the platform
 * whether it serves the host, and can ask over TCP only. It asks its own HTTP port, on which no other process can
 * listen, and the server on this port passes the question to the gate.
 */
export function certificateParts(tls: EdgeTls, domain: string, port: number): ConfigPart[] {
  const internal = tls.certificates === 'internal';
  const common = {
    issuers: [internal ? { module: 'internal', ca: AUTHORITY } : acmeIssuer(tls, port)],
    on_demand: true,
  };
  const ofServices = { '@id': POLICY_ID, subjects: [`*.${domain}`], ...common };
  // Without subjects, the policy applies to every name that no earlier policy covers.
  const ofDomains = { '@id': DOMAINS_POLICY_ID, ...common };
  const authority = {
    path: ['apps', 'pki', 'certificate_authorities', AUTHORITY],
    value: { name: 'Ranvier', install_trust: false },
  };
  return [
    ...(internal ? [authority] : []),
    {
      path: ['apps', 'tls', 'automation', 'on_demand', 'ask'],
      value: `http://${LOOPBACK}:${port}${HOST_PATH}`,
      ours: isOurQuestion,
    },
    { path: ['apps', 'tls', 'automation', 'policies'], id: POLICY_ID, value: ofServices },
    { path: ['apps', 'tls', 'automation', 'policies'], id: DOMAINS_POLICY_ID, last: true, value: ofDomains },
  ];
}

function acmeIssuer(tls: EdgeTls, port: number): Record<string, unknown> {
  const { email, authority, authorityRoot } = tls;
  return {
    module: 'acme',
    ...(email === null ? {} : { email }),
    ...(authority === null ? {} : { ca: authority }),
    ...(authorityRoot === null ? {} : { trusted_roots_pem_files: [authorityRoot] }),
    // The certificate authority connects to ports 80 and 443. If these ports are forwarded to other ports of this host,
    // Caddy must respond to the authority's challenges there.
    challenges: { http: { alternate_port: port }, 'tls-alpn': { alternate_port: tls.port } },
  };
}

function isOurQuestion(present: unknown): boolean {
  return typeof present === 'string' && present.endsWith(HOST_PATH);
}

/** Returns the server that redirects HTTP to HTTPS, and passes Caddy's own requests to the gate. */
export function redirectConfig(port: number, tlsPort: number, gate: string): Record<string, unknown> {
  const location = `https://{http.request.host}${tlsPort === 443 ? '' : `:${tlsPort}`}{http.request.uri}`;
  return {
    listen: [`:${port}`],
    automatic_https: { disable: true },
    routes: [
      {
        match: [{ host: [LOOPBACK], path: [HOST_PATH], remote_ip: { ranges: [LOOPBACK] } }],
        handle: [gateProxy(gate)],
        terminal: true,
      },
      { handle: [{ handler: 'static_response', status_code: '308', headers: { Location: [location] } }] },
    ],
  };
}
