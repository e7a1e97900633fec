import { createHash } from 'node:crypto';
import type { Route, RouteTable } from '../table.js';

/** Where a request may be sent. `label` is unique to the replica, so that a port given again to others is another name. */
export interface Endpoint {
  label: string;
  address: string;
  port: number;
}

/** Host → the replicas that Caddy sends its requests to. Whatever is not in it is the responder's. */
export type Zone = ReadonlyMap<string, readonly Endpoint[]>;

/**
 * The hosts whose requests go from Caddy to the replicas directly. All that asks for more than passing on (pages, static
 * sites, maintenance, allow lists, unknown hosts) is left out, and answered by the responder.
 */
export function zoneOf(table: RouteTable): Zone {
  const zone = new Map<string, Endpoint[]>();
  for (const [host, route] of table) {
    const endpoints = directEndpoints(route);
    if (endpoints !== null) zone.set(host, endpoints);
  }
  return zone;
}

function directEndpoints({ target, allow, maintenance }: Route): Endpoint[] | null {
  if (target.type !== 'proxy' || target.replicas.length === 0 || allow.length > 0 || maintenance !== null) return null;
  return target.replicas.map(({ id, address, port }) => ({
    label: labelOf(`${id} ${address} ${port}`),
    address,
    port,
  }));
}

function labelOf(replica: string): string {
  return `r${createHash('sha256').update(replica).digest('hex').slice(0, 15)}`;
}

/** The hosts that the two zones answer differently. */
export function changedHosts(before: Zone, after: Zone): string[] {
  const hosts = new Set([...before.keys(), ...after.keys()]);
  return [...hosts].filter((host) => spelled(before.get(host)) !== spelled(after.get(host)));
}

/** The endpoints of a zone that no host of another has. */
export function endpointsLeft(before: Zone, after: Zone): Endpoint[] {
  const kept = new Set([...after.values()].flat().map(({ label }) => label));
  return [...before.values()].flat().filter(({ label }) => !kept.has(label));
}

function spelled(endpoints: readonly Endpoint[] | undefined): string {
  return (endpoints ?? [])
    .map(({ label }) => label)
    .sort()
    .join();
}
