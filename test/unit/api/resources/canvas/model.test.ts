import { expect } from 'chai';
import {
  assertWithin,
  CANVAS_LIMITS,
  canvasGraph,
  nodeIds,
  shownPositions,
} from '../../../../../api/resources/canvas/model.js';
import { AppError } from '../../../../../shared/core/error-registry.js';

describe('The graph of a canvas', () => {
  const services = [{ id: 'a' }, { id: 'b' }];
  const groups = [{ id: 'g', name: 'Group', environment_id: null }];

  it('has one edge for each consumer and provider, with all the keys', () => {
    const reference = { service_id: 'a', group_id: null, provider_id: 'b' };
    const references = [
      { ...reference, key: 'ONE' },
      { ...reference, key: 'TWO' },
      { service_id: null, group_id: 'g', provider_id: 'b', key: 'ONE' },
    ];
    const { edges } = canvasGraph({ services, groups, links: [{ group_id: 'g', service_id: 'a' }], references });
    expect(edges).to.deep.equal([
      { id: 'reference:a:b', source: 'a', target: 'b', kind: 'reference', keys: ['ONE', 'TWO'] },
      { id: 'reference:group:g:b', source: 'group:g', target: 'b', kind: 'reference', keys: ['ONE'] },
      { id: 'environment-group:g:a', source: 'group:g', target: 'a', kind: 'environment-group' },
    ]);
  });

  it('shows exactly as much as the limit, and refuses more', () => {
    const nodes = Array.from({ length: CANVAS_LIMITS.nodes }, () => ({}));
    assertWithin('nodes', nodes);
    expect(() => assertWithin('nodes', [...nodes, {}])).to.throw(AppError, /more than 2000 nodes/);
  });

  it('leaves out the positions of nodes that have gone', () => {
    const graph = canvasGraph({ services, groups, links: [], references: [] });
    const place = { x: 1, y: 2 };
    const shown = shownPositions({ a: place, 'group:g': place, gone: place }, nodeIds(services, graph));
    expect(Object.keys(shown)).to.have.members(['a', 'group:g']);
  });
});
