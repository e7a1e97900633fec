import { compression } from './contract/compression.js';
import { guards } from './contract/guards.js';
import { passingOn } from './contract/passing-on.js';
import { severalReplicas } from './contract/replicas.js';
import { rules } from './contract/rules.js';
import { staticSites } from './contract/static-sites.js';
import { swaps } from './contract/swaps.js';
import type { EdgeKind } from './support.js';

/** Defines the tests that every implementation of the edge must pass. */
export function describeEdge(kind: EdgeKind): void {
  describe(`${kind.name}: the contract of an edge`, () => {
    describe('passing on', () => passingOn(kind));
    describe('several replicas', () => severalReplicas(kind));
    describe('guards', () => guards(kind));
    describe('static sites', () => staticSites(kind));
    describe('rules', () => rules(kind));
    describe('compression', () => compression(kind));
    describe('swaps', () => swaps(kind));
  });
}
