import { expect } from 'chai';
import { guardDockerfile } from '../../../../../workers/builders/dockerfile/dockerfile-guard.js';
import { explainBuildah } from '../../../../../workers/builders/oci-images/explain-buildah.js';

const { text } = guardDockerfile('FROM x\nRUN  echo a && \\\n  false\nRUNN echo x\n', {
  buildArgs: {},
  ownPrefix: null,
});

describe('What buildah says about a Dockerfile', () => {
  it('is told with the line and the text of the instruction', () => {
    expect(explainBuildah(text, 'Error: building at STEP "RUN echo a &&   false": exit status 1')).to.equal(
      'line 2 of the Dockerfile, RUN echo a &&   false: exit status 1',
    );
    const unknown =
      'Error: building at STEP "RUNN ": Build error: Unknown instruction: "RUNN" &imagebuilder.Step{Env:[]string{"PATH=/bin"}, Original:"RUNN echo x"}';
    expect(explainBuildah(text, unknown)).to.equal(
      'line 4 of the Dockerfile, RUNN echo x: Unknown instruction: "RUNN"',
    );
  });

  it('is told without a line if the instruction is not found, and is nothing else', () => {
    expect(explainBuildah(text, 'Error: building at STEP "COPY a b": no such file')).to.equal(
      'an instruction of the Dockerfile, COPY a b: no such file',
    );
    expect(explainBuildah(text, 'Killed')).to.equal(null);
  });
});
