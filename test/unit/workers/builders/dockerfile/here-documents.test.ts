import { expect } from 'chai';
import { withoutHereDocuments } from '../../../../../workers/builders/dockerfile/here-documents.js';

const plain = (text: string) => withoutHereDocuments(text).text;
const lines = (...text: string[]) => text.join('\n');

describe('A Dockerfile with here-documents', () => {
  it('has its RUN as a list of words, and what follows keeps its line', () => {
    expect(plain(lines('FROM x', 'RUN <<EOF', 'echo "a"', 'echo b', 'EOF', 'CMD c'))).to.equal(
      lines('FROM x', 'RUN ["/bin/sh","-c","echo \\"a\\"\\necho b\\n"]', '', '', '', 'CMD c'),
    );
  });

  it('keeps the flags of a RUN, takes tabs away if it says so, and runs it by the shell of the Dockerfile', () => {
    expect(
      plain(lines('SHELL ["/bin/bash", "-ec"]', 'RUN --mount=type=cache,target=/c <<-"END"', '\techo a', '\tEND')),
    ).to.equal(
      lines('SHELL ["/bin/bash", "-ec"]', 'RUN --mount=type=cache,target=/c ["/bin/bash","-ec","echo a\\n"]', '', ''),
    );
  });

  it('may have one as the input of a command', () => {
    expect(plain(lines('RUN cat <<EOF >/file', 'text', 'EOF'))).to.equal(
      lines('RUN ["/bin/sh","-c","cat <<EOF >/file\\ntext\\nEOF\\n"]', '', ''),
    );
  });

  it('may have several in one RUN, and a mark without an end is text', () => {
    expect(plain(lines('RUN cat <<A >a && cat <<-B >b && echo "<<C"', 'one', 'A', 'two', '\tB', 'CMD c'))).to.equal(
      lines(
        'RUN ["/bin/sh","-c","cat <<A >a && cat <<-B >b && echo \\"<<C\\"\\none\\nA\\ntwo\\n\\tB\\n"]',
        '',
        '',
        '',
        '',
        'CMD c',
      ),
    );
  });

  it('has the files of a COPY in a context of their own', () => {
    const text = lines('FROM x', 'COPY --chown=1:1 <<A <<-"B" /etc/', 'a', 'A', '\t$b', '\tB', 'CMD c');
    expect(withoutHereDocuments(text)).to.deep.equal({
      text: lines('FROM x', 'COPY --chown=1:1 --from=ranvier-here-documents /1/A /1/B /etc/', '', '', '', '', 'CMD c'),
      files: { '1/A': 'a\n', '1/B': '$b\n' },
    });
  });

  it('stays as it is without an end, with an interpreter of its own, and with variables in a file', () => {
    for (const text of [
      lines('RUN <<EOF', 'echo'),
      lines('RUN <<EOF', '#!/usr/bin/python3', 'print(1)', 'EOF'),
      lines('COPY <<EOF /file', '$text', 'EOF'),
      lines('COPY <<EOF /file', 'text'),
      lines('RUN echo $((1<<2))', 'CMD a'),
    ]) {
      expect(plain(text)).to.equal(text);
    }
  });
});
