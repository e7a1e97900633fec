import { Writable } from 'node:stream';
import { expect } from 'chai';
import { type Logger, pino } from 'pino';
import { RepeatedLines } from '../../../../shared/core/repeated-lines.js';
import { eventually } from '../../../support/processes.js';

describe('Repeated lines of the platform', () => {
  let lines: { level: number; msg: string; repeats?: number; err?: { message: string } }[];
  let log: Logger;

  function begin(windowMs: number): void {
    lines = [];
    const output = new Writable({
      write(chunk, _encoding, done) {
        lines.push(JSON.parse(String(chunk)));
        done();
      },
    });
    const repeated = new RepeatedLines(windowMs);
    const hooks = {
      logMethod(this: Logger, args: Parameters<Logger['info']>, method: Logger['info'], level: number) {
        if (repeated.admit(this, args, method, level)) method.apply(this, args);
      },
    };
    log = pino({ hooks }, output);
  }

  it('are shown ten times, then counted, whatever ids and numbers they carry', async () => {
    begin(300);
    for (let i = 0; i < 500; i++) {
      const child = log.child({ replica: i });
      child.warn({ err: new Error('x') }, `replica 0199aa0${i}-7 cannot be removed after ${i} ms`);
      log.error('something else');
      log.info('an ordinary line');
    }
    expect(lines.filter((line) => line.msg.startsWith('replica'))).to.have.length(10);
    expect(lines.filter((line) => line.msg === 'something else')).to.have.length(10);
    expect(lines.filter((line) => line.level === 30)).to.have.length(500);
    const counted = await eventually('the count is written', () =>
      lines.find((line) => line.msg.includes('replica 0199aa00-7 cannot') && line.repeats),
    );
    expect(counted).to.include({ repeats: 490, level: 40 });
    log.warn('replica 1 cannot be removed after 1 ms');
    expect(lines.at(-1)?.msg).to.equal('replica 1 cannot be removed after 1 ms');
  });

  it('of errors without a message go by the error, and what is fatal always appears', () => {
    begin(60_000);
    for (let i = 0; i < 30; i++) {
      log.error(new Error('the same'));
      log.error({ err: new Error(`another ${'abcdefghij'[i % 10]}`) });
      log.fatal('the end');
    }
    expect(lines.filter((line) => line.level === 60)).to.have.length(30);
    expect(lines.filter((line) => line.err?.message === 'the same')).to.have.length(10);
    expect(lines.filter((line) => line.err?.message.startsWith('another'))).to.have.length(30);
  });

  it('take bounded memory', () => {
    begin(60_000);
    const letters = 'abcdefghijklmnopqrstuvwxyz';
    const word = (i: number) =>
      [i % 26, Math.floor(i / 26) % 26, Math.floor(i / 676) % 26].map((n) => letters[n]).join(' ');
    for (let i = 0; i < 5000; i++) log.warn(`kind ${word(i)}`);
    expect(lines).to.have.length(5000);
    for (let i = 0; i < 30; i++) log.warn(`kind ${word(4999)}`);
    expect(lines).to.have.length(5009);
  });
});
