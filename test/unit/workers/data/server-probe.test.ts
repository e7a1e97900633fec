import { expect } from 'chai';
import { readPostgres, readRedis } from '../../../../workers/data/server-probe.js';

function postgresError(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from('E'), length, fields]);
}

describe('The answer of a server', () => {
  it('of PostgreSQL is healthy if it asks for a password, or if all connections are taken', () => {
    expect(readPostgres(Buffer.from('R\0\0\0\x17'))).to.deep.equal({ healthy: true });
    expect(readPostgres(postgresError('53300', 'sorry, too many clients already'))).to.deep.equal({ healthy: true });
  });

  it('of PostgreSQL that recovers says so', () => {
    const answer = postgresError('57P03', 'the database system is starting up');
    expect(readPostgres(answer)).to.deep.equal({
      healthy: false,
      silent: false,
      answer: 'the database system is starting up',
    });
    expect(readPostgres(answer.subarray(0, 9)), 'more of it is to come').to.equal(null);
    expect(readPostgres(Buffer.alloc(0))).to.equal(null);
    expect(readPostgres(Buffer.from('HTTP/1.1 400'))).to.include({ healthy: false });
  });

  it('of redis is healthy if it wants a password, and not while it loads', () => {
    expect(readRedis(Buffer.from('-NOAUTH Authentication required.\r\n'))).to.deep.equal({ healthy: true });
    expect(readRedis(Buffer.from('+PONG\r\n'))).to.deep.equal({ healthy: true });
    expect(readRedis(Buffer.from('-LOADING Redis is loading the dataset in memory\r\n'))).to.include({
      healthy: false,
    });
    expect(readRedis(Buffer.from('+PO'))).to.equal(null);
  });
});
