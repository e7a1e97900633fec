import { expect } from 'chai';
import { traceOf, validTraceparent } from '../../../../shared/deployments/trace-context.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const VALID = `00-${TRACE}-${SPAN}-01`;

describe('A traceparent', () => {
  it('has a version, two ids and flags', () => {
    expect(validTraceparent(VALID)).to.equal(VALID);
    expect(traceOf(VALID)).to.deep.equal({ traceId: TRACE, spanId: SPAN });
  });

  it('of a later version is read as far as this one goes', () => {
    expect(validTraceparent(`01-${TRACE}-${SPAN}-00`)).to.equal(`01-${TRACE}-${SPAN}-00`);
    expect(validTraceparent(`cc-${TRACE}-${SPAN}-00-what-ever`)).to.equal(`cc-${TRACE}-${SPAN}-00`);
  });

  it('is ignored if it is malformed', () => {
    const malformed = [
      ...['', 'x', `${VALID}-more`, ` ${VALID}`, `${VALID}\n`, VALID.toUpperCase(), VALID.slice(0, -1), `${VALID}0`],
      ...[`ff-${TRACE}-${SPAN}-01`, `00-${'0'.repeat(32)}-${SPAN}-01`, `00-${TRACE}-${'0'.repeat(16)}-01`],
      ...[`01-${TRACE}-${SPAN}-00.more`, `00-${TRACE}x-${SPAN}-01`],
    ];
    for (const header of malformed) expect(validTraceparent(header), header).to.equal(null);
    expect(validTraceparent(undefined)).to.equal(null);
  });
});
