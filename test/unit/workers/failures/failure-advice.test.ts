import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import {
  ADVICE_LINES,
  adviceFor,
  memoryAdvice,
  recognise,
  withAdvice,
} from '../../../../workers/failures/failure-advice.js';
import type { FailureFacts } from '../../../../workers/failures/known-failure.js';
import { KNOWN_FAILURES } from '../../../../workers/failures/known-failures.js';
import { ownProcessorMs } from '../../../support/processor-time.js';

const FACTS: FailureFacts = { phase: 'build', memoryMb: 2048 };
const START: FailureFacts = { phase: 'start', memoryMb: 512 };

/** Outputs of real failures: `== <name of the failure> <phase>`, and then the end of the output. */
const SAMPLES = readFileSync(
  join(resolve(import.meta.dirname, '../../../../..'), 'test/unit/workers/failures/failure-samples.txt'),
  'utf8',
)
  .split(/^== /m)
  .slice(1)
  .map((sample) => {
    const [title = '', ...lines] = sample.split('\n');
    const [, name = '', phase = 'build'] = /^(.*?)(?: \((build|start)\))?$/.exec(title) ?? [];
    return { name, phase: phase as FailureFacts['phase'], lines };
  });

function sentences(text: string): string[] {
  return text.split(/(?<=[.!?])\s+(?=[A-Z])/);
}

describe('Advice on failures', () => {
  for (const { name } of KNOWN_FAILURES) {
    it(`recognises: ${name}`, () => {
      const samples = SAMPLES.filter((sample) => sample.name === name);
      expect(samples, 'add a sample to failure-samples.txt').not.to.deep.equal([]);
      for (const { phase, lines } of samples) {
        const facts = { ...(phase === 'build' ? FACTS : START), hasSubmodules: name === 'submodules' };
        const known = recognise(lines, facts);
        expect(known?.failure.name, lines.join('\n')).to.equal(name);
        const advice = adviceFor(lines, facts) ?? '';
        expect(sentences(advice), advice).to.have.length(2);
        expect(advice).to.match(/\.$/);
      }
    });
  }

  it('has no sample of an unknown failure', () => {
    const names = new Set(KNOWN_FAILURES.map(({ name }) => name));
    expect(SAMPLES.map(({ name }) => name).filter((name) => !names.has(name))).to.deep.equal([]);
  });

  it('says nothing about what is not known', () => {
    expect(adviceFor(['Error: the cause', '    at main (/mnt/app/server.js:1:1)'], START)).to.equal(null);
    expect(adviceFor([], FACTS)).to.equal(null);
  });

  it('names the plan that would fit after an end for memory', () => {
    expect(memoryAdvice(FACTS)).to.match(/^A build on the plan pro may use 4096 MB\. Choose that plan, or /);
    expect(memoryAdvice(START)).to.match(/^An application on the plan starter may use 1024 MB\. /);
    expect(memoryAdvice({ ...FACTS, memoryMb: 8192 })).to.match(/^No plan has more memory\. Change the build/);
  });

  it('follows the text of the failure as sentences of its own', () => {
    expect(withAdvice('it failed', 'This happened. Do that.')).to.equal('it failed. This happened. Do that.');
    expect(withAdvice('it failed', null)).to.equal('it failed');
  });

  it('takes little time, whatever is printed', () => {
    const hostile = [
      ...['A_', 'ENOENT', 'E', 'EACCES: mkdir ', "Cannot find module './", 'npm error 404 @a', '= /'],
      ...['sh: 1: a', ' '],
    ];
    const began = ownProcessorMs();
    for (const part of hostile) {
      const lines = Array.from({ length: 2 * ADVICE_LINES }, () => part.repeat(20_000).slice(0, 16_384));
      adviceFor(lines, FACTS);
      adviceFor(lines, { ...START, hasSubmodules: true });
    }
    expect(ownProcessorMs() - began, 'milliseconds for 18 outputs').to.be.lessThan(5000);
  });
});
