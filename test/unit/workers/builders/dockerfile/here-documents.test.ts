import { expect } from 'chai';
import { withoutHereDocuments } from '../../../../../workers/builders/dockerfile/here-documents.js';

const lines = (...text: string[]) => text.join('\n');

describe('RUN with a here-document', () => {
  it('is written as a list of words, and what follows keeps its line', () => {
    expect(withoutHereDocuments(lines('FROM x', 'RUN <<EOF', 'echo "a"', 'echo b', 'EOF', 'CMD c'))).to.equal(
      lines('FROM x', 'RUN ["/bin/sh","-c","echo \\"a\\"\\necho b\\n"]', '', '', '', 'CMD c'),
    );
  });

  it('keeps its flags, loses tabs where it says so, and is run by the shell of the Dockerfile', () => {
    expect(
      withoutHereDocuments(
        lines('SHELL ["/bin/bash", "-ec"]', 'RUN --mount=type=cache,target=/c <<-"END"', '\techo a', '\tEND'),
      ),
    ).to.equal(
      lines('SHELL ["/bin/bash", "-ec"]', 'RUN --mount=type=cache,target=/c ["/bin/bash","-ec","echo a\\n"]', '', ''),
    );
  });

  it('may be the input of a command', () => {
    expect(withoutHereDocuments(lines('RUN cat <<EOF >/file', 'text', 'EOF'))).to.equal(
      lines('RUN ["/bin/sh","-c","cat <<EOF >/file\\ntext\\nEOF\\n"]', '', ''),
    );
  });

  it('stays as it is without an end, with an interpreter of its own, and in other instructions', () => {
    for (const text of [
      lines('RUN <<EOF', 'echo'),
      lines('RUN <<EOF', '#!/usr/bin/python3', 'print(1)', 'EOF'),
      lines('COPY <<EOF /file', 'text', 'EOF'),
      lines('RUN echo $((1<<2))', 'CMD a'),
    ]) {
      expect(withoutHereDocuments(text)).to.equal(text);
    }
  });
});
