import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type AdminApi, CaddyError } from './admin-api.js';

const Upstreams = Type.Array(Type.Object({ address: Type.String(), num_requests: Type.Number() }));

/** The upstreams, as Caddy names them, to which requests are under way. Throws `CaddyError`. */
export async function inFlight(api: AdminApi): Promise<ReadonlySet<string>> {
  const upstreams = (await api.get('/reverse_proxy/upstreams')) ?? [];
  if (!Value.Check(Upstreams, upstreams)) throw new CaddyError("Caddy's list of upstreams is not understood");
  return new Set(upstreams.flatMap(({ address, num_requests }) => (num_requests > 0 ? [address] : [])));
}
