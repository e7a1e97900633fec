import { expect } from 'chai';
import type { ApiStep } from '../../../../api/http/request-state.js';
import { RouteIndex, shapeOf } from '../../../../api/http/route-index.js';
import { ROUTES } from '../../../../api/resources/index.js';

const ID = '0190a0a0-0000-7000-8000-000000000001';
const OTHER = '0190A0A0-0000-7000-8000-000000000002';

async function visit(index: RouteIndex, method: string, path: string): Promise<unknown> {
  const ctx = { method, path } as Parameters<ReturnType<RouteIndex['middleware']>>[0];
  let passed = false;
  await index.middleware()(ctx, async () => {
    passed = true;
  });
  return passed ? 'passed on' : [ctx.body, ctx.params];
}

describe('The index of routes', () => {
  const answer =
    (name: string): ApiStep =>
    (ctx) => {
      ctx.body = name;
    };
  const index = new RouteIndex([
    { method: 'GET', path: '/a/:x/b/:y', steps: [async () => undefined, answer('first'), answer('both')] },
    { method: 'GET', path: '/a/:x/c', steps: [answer('c')] },
    { method: 'POST', path: '/a/:x/c', steps: [answer('post')] },
  ]);

  it('finds a route by method and path, and names its parameters', async () => {
    expect(await visit(index, 'GET', `/a/${ID}/b/${OTHER}`)).to.deep.equal(['both', { x: ID, y: OTHER }]);
    expect(await visit(index, 'GET', `/a/${ID}/c`)).to.deep.equal(['c', { x: ID }]);
    expect(await visit(index, 'POST', `/a/${ID}/c`)).to.deep.equal(['post', { x: ID }]);
  });

  it('passes everything else on', async () => {
    for (const path of ['/', '/a', `/a/${ID}`, '/a/no-uuid/c', `/a/${ID}/c/`, `/a/${ID}//c`, `/A/${ID}/c`, '/a/:/c']) {
      expect(await visit(index, 'GET', path), path).to.equal('passed on');
    }
    expect(await visit(index, 'DELETE', `/a/${ID}/c`)).to.equal('passed on');
  });

  it('rejects with what a middleware throws', async () => {
    const failing = new RouteIndex([
      {
        method: 'GET',
        path: '/x',
        steps: [
          () => {
            throw new Error('refused');
          },
          answer('too far'),
        ],
      },
    ]);
    const error = await visit(failing, 'GET', '/x').catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error).with.property('message', 'refused');
  });

  it('tells all declared routes apart', () => {
    const shapes = ROUTES.map(({ method, root, path }) => `${method} ${root}${path.replace(/:\w+/g, ':')}`);
    expect(new Set(shapes).size).to.equal(ROUTES.length);
    expect(shapeOf(`/a/${ID}`)).to.deep.equal({ shape: '/a/:', ids: [ID] });
  });
});
